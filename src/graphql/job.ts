// Background jobs, for monitoring: their state, age, attempts and last error.

import { derivedId } from '../domain/derived-id.ts'
import { getJobs, jobCursor, type Job, type JobState } from '../domain/job/job.ts'
import type { JobName } from '../domain/job/worker.ts'
import { builder } from './builder.ts'
import { connectionOf, pagingArgs } from './connection.ts'
import { loadConversation } from './loaders.ts'
import { Node } from './node.ts'

const JobNameEnum = builder.enumType('JobName', {
  description: 'What a job does.',
  values: {
    COMPACT: { description: 'Summarises the oldest turns of a conversation.' },
    EXTRACT_FACTS: { description: 'Reads new turns of a conversation for what is to be known.' },
    REFRESH_PROFILE: { description: 'Brings what is told of a user up to date.' },
    RECONCILE_FACTS: { description: 'Merges what is known of a user twice, and settles what cannot both hold.' },
  } satisfies Record<JobName, object>,
})

const JobStateEnum = builder.enumType('JobState', {
  description: 'How far a job is.',
  values: {
    WAITING: { description: 'Nobody has taken it yet.' },
    RETRYING: { description: 'It failed, and is tried again by and by: `lastError` says why.' },
    ACTIVE: { description: 'A process works on it. One that is killed meanwhile leaves it so for some minutes.' },
    COMPLETED: { description: 'It ended well, within the last hour.' },
    FAILED: { description: 'It failed too often, within the last hour. What is still due becomes a new job.' },
  } satisfies Record<JobState, object>,
})

builder.objectType('Job', {
  interfaces: [Node],
  description:
    'Something that is done in the background, about one conversation or one user. What is to be done is looked up when it '
    + 'runs, so it may find that there is nothing left to do.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      resolve: ({ id }) => derivedId({ kind: 'job', jobId: id }),
    }),
    name: t.field({ type: JobNameEnum, description: 'What it does.', resolve: ({ name }) => name }),
    state: t.field({ type: JobStateEnum, description: 'How far it is.', resolve: ({ state }) => state }),
    conversation: t.field({
      type: 'Conversation',
      nullable: true,
      description: 'The conversation that it is about; null where it is about a user, or the conversation is gone.',
      resolve: (job, _, context) =>
        job.conversationId === null ? null : loadConversation(context, context.viewer, job.conversationId),
    }),
    userId: t.exposeString('userId', {
      nullable: true,
      description: 'Whom it is about; null where it is about a conversation.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was found that there is work.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the newest try began; null before the first one.',
    }),
    ageSeconds: t.exposeFloat('ageSeconds', {
      description: 'Time since `createdAt`, up to its end or until now. Great in an ACTIVE one, that is stuck.',
    }),
    attempts: t.exposeInt('attempts', { description: 'Tries that were begun, the one that runs included.' }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why the newest try that is over failed, without a word of what was said; null where none failed.',
    }),
  }),
})

const { Connection: JobConnection } = connectionOf<Job>('Job', 'jobs', jobCursor)

builder.queryField('jobs', (t) =>
  t.field({
    type: JobConnection,
    description:
      "Background jobs of the viewer's tenant: unfinished jobs, oldest first, then the jobs that ended within the last "
      + 'hour, newest first. Defaults to the first 50.',
    args: {
      ...pagingArgs(t, 'jobs'),
      state: t.arg({ type: JobStateEnum, description: 'Only jobs in this state. Null for all jobs.' }),
    },
    resolve: (_, args, { reading, viewer, work }) => work.read(() => getJobs(reading, viewer, args)),
  }),
)
