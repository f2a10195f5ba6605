// The subject of a job: a conversation or a user, depending on the job's name and key.

import { describe, expect, it } from 'vitest'
import { getJob } from '../../../../../src/domain/background/job/job.ts'
import { QUEUES, type JobName } from '../../../../../src/domain/background/job/worker.ts'
import type { Platform } from '../../../../../src/domain/kernel/platform.ts'

const CONVERSATION = 'conv_0123456789ABCDEFGHJKMNPQRS'

/** Returns a database whose only job has that name and key. */
function dbWith(name: JobName, key: string): Platform['db'] {
  const results = [[{ installed: true }], [{ id: 'id', name: QUEUES[name], key, order: 0n }]]
  return { of: () => ({ $queryRaw: async () => results.shift() }) } as unknown as Platform['db']
}

describe('a job', () => {
  it.each<[JobName, subject: object, key?: string]>([
    ['COMPACT', { conversationId: 'subject', userId: null }],
    ['WRITE_TITLE', { conversationId: 'subject', userId: null }],
    ['EXTRACT_FACTS', { conversationId: 'subject', userId: null }],
    ['REFRESH_PROFILE', { conversationId: null, userId: 'subject' }],
    ['RECONCILE_FACTS', { conversationId: null, userId: 'subject' }],
    ['RECONCILE_FACTS', { conversationId: CONVERSATION, userId: null }, CONVERSATION],
    ['RECONCILE_FACTS', { conversationId: null, userId: null }, ''],
    ['RUN_AGENT', { conversationId: 'conv', userId: null }, 'conv an agent'],
  ])('named %s is about %o', async (name, subject, key = 'subject') => {
    expect(await getJob({ db: dbWith(name, key) }, { tenant: 't', actor: 'ada' }, 'id')).toMatchObject({
      name,
      ...subject,
    })
  })
})
