// Background jobs, for monitoring: their state, age, attempts and last error.

import { derivedId } from '../../domain/kernel/derived-id.ts'
import { getJobs, jobCursor, type Job, type JobState } from '../../domain/background/job/job.ts'
import type { JobName } from '../../domain/background/job/worker.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import { asArg } from './view/named.ts'
import { builder } from './builder.ts'
import { connectionOf, pagingArgs } from './connection.ts'
import { loadConversation } from './loaders.ts'
import { Node } from './node.ts'

const JobNameEnum = builder.enumType('JobName', {
  description: 'Kind of background job.',
  values: {
    COMPACT: { description: 'Summarises the oldest turns of a conversation.' },
    WRITE_TITLE: { description: 'Makes the title of a conversation that has none.' },
    EXTRACT_FACTS: { description: 'Extracts facts from the new turns of a conversation.' },
    REFRESH_PROFILE: { description: 'Refreshes the profile of a user.' },
    RUN_AGENT: {
      description: 'Runs an agent of a conversation, because turns wake it up; see `respond` of Participant.',
    },
    CONTINUE_RUNS: {
      description: 'Continues the runs that waited for approvals in a conversation, once all approvals are decided.',
    },
    RECONCILE_FACTS: { description: 'Merges duplicate facts about a user, and supersedes contradicted ones.' },
  } satisfies Record<JobName, object>,
})

const JobStateEnum = builder.enumType('JobState', {
  description: 'State of a background job.',
  values: {
    WAITING: { description: 'The job waits for its first attempt.' },
    RETRYING: { description: 'The last attempt failed, and the job waits for a retry. See `lastError`.' },
    ACTIVE: {
      description: 'A process is running the job. If that process is killed, the job stays ACTIVE for some minutes.',
    },
    COMPLETED: { description: 'The job succeeded, within the last hour.' },
    FAILED: { description: 'The last retry failed, within the last hour. Remaining work becomes a new job.' },
  } satisfies Record<JobState, object>,
})

builder.objectType('Job', {
  interfaces: [Node],
  description:
    'Background work for one conversation, one agent of a conversation, or one user. A job determines the work that is due when it runs, '
    + 'and may find none.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      sharing: 'SHAREABLE',
      resolve: ({ id }) => derivedId({ kind: 'job', jobId: id }),
    }),
    name: t.field({
      type: JobNameEnum,
      description: 'Kind of the job.',
      sharing: 'SHAREABLE',
      resolve: ({ name }) => name,
    }),
    state: t.field({
      type: JobStateEnum,
      description: 'Current state of the job.',
      sharing: 'SHAREABLE',
      resolve: ({ state }) => state,
    }),
    conversation: t.field({
      type: 'Conversation',
      nullable: true,
      description: "The conversation that the job works on. Null for a user's job, or if the conversation was deleted.",
      sharing: 'PER_VIEWER',
      resolve: (job, _, context) =>
        job.conversationId === null ? null : loadConversation(context, job.conversationId),
    }),
    userId: t.exposeString('userId', {
      nullable: true,
      description: "Id of the user that the job works on. Null for a conversation's job.",
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the job was queued.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the latest attempt started. Null before the first attempt.',
    }),
    ageSeconds: t.exposeFloat('ageSeconds', {
      description:
        'Seconds from `createdAt` until the job ended, or until now. A high value on an ACTIVE job means it '
        + 'is stuck.',
    }),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts started, including a running one.' }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description:
        'Error of the latest finished attempt, without content of turns. Null if that attempt succeeded, or '
        + 'if none has finished.',
    }),
  }),
})

const { Connection: JobConnection } = connectionOf<Job>('Job', 'jobs', jobCursor)

builder.queryField('jobs', (t) =>
  t.field({
    verb: 'getJobs',
    type: JobConnection,
    description:
      "Lists the background jobs of the viewer's tenant: unfinished jobs, oldest first, then the jobs that "
      + 'ended within the last hour, newest first. Excludes jobs for conversations that the viewer does not '
      + `see, and for other users. Defaults to the first ${DEFAULT_PAGE_SIZE}.`,
    args: {
      ...pagingArgs(t, 'jobs'),
      state: t.arg({ type: JobStateEnum, description: 'State of the jobs to list. Null for all jobs.' }),
      ...asArg(t),
    },
    resolve: (_, args, { reading, viewer, work }) => work.read(() => getJobs(reading, viewer, args)),
  }),
)
