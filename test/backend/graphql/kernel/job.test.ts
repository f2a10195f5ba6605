// Background jobs through the API: their states, attempts and errors, their order, and the view of a tenant.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { startJobs } from '../../../../src/domain/background/jobs.ts'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { appendTurn } from '../../../../src/domain/turn/append/append.ts'
import { CallFailed } from '../../../../src/providers/ports/call-failed.ts'
import type { FactServices } from '../../../../src/providers/ports/fact-services.ts'
import { backends } from '../../../support/backend.ts'
import { createFakeSummarizer, withSummarizer } from '../../../support/covering.ts'
import { untilAborted } from '../../../support/automatic.ts'
import { TENANT, useClients } from '../client.ts'
import { sql } from '../../../support/sql.ts'
import { isLong } from '../../../support/long.ts'

const JOBS = `query ($first: Int, $state: JobState) { jobs(first: $first, state: $state) { nodes {
  id name state conversation { id title } userId createdAt startedAt ageSeconds attempts lastError
} } }`

describe.each(backends)('Query.jobs, on $name', (backend) => {
  const clients = useClients(backend)
  const ada = clients.as('ada')
  let stop = async () => {}
  afterEach(() => stop())

  /** The services for facts, with a writer that never ends a profile. */
  const withHangingWriter = (): FactServices => ({
    ...clients.deps.factServices,
    profileWriter: { name: 'hanging', write: (_, signal) => untilAborted(signal), close: async () => {} },
  })
  /** Creates a conversation with this number of turns. */
  const fill = async (title: string, turns: number) => {
    const conversationId = await clients.newConversation(['ada'], { title })
    for (let n = 0; n < turns; n++) await clients.append(conversationId, `turn ${n}`)
    return conversationId
  }

  it('is empty at first, then lists retrying, active and completed jobs', async () => {
    expect(await ada(JOBS)).toEqual({ jobs: { nodes: [] } })
    const failing = await fill('failing', 51)
    const model = createFakeSummarizer()
    let release = () => {}
    model.before = async () => {
      if (model.requests.length === 1) throw new CallFailed('The provider answered 503.', true)
      await new Promise<void>((resolve) => (release = resolve))
    }
    const deps = { ...withSummarizer(clients.deps, model), log: { ...clients.deps.log, warn: () => {} } }
    stop = await startJobs(deps)
    await vi.waitFor(
      async () =>
        expect((await ada(JOBS)).jobs.nodes).toMatchObject([
          {
            name: 'COMPACT',
            state: 'RETRYING',
            conversation: { id: failing, title: 'failing' },
            userId: null,
            attempts: 1,
            lastError: 'The provider answered 503.',
            startedAt: expect.any(String),
          },
        ]),
      { interval: 50 },
    )

    // Make the retry due now; it waits for `release`.
    const { pool } = clients.deps
    await sql(pool).query(
      `UPDATE pgboss.job SET start_after = now(), created_on = now() - interval '1 hour' WHERE state = 'retry'`,
    )
    await vi.waitFor(
      async () =>
        expect((await ada(JOBS)).jobs.nodes).toMatchObject([
          { state: 'ACTIVE', attempts: 2, lastError: 'The provider answered 503.' },
        ]),
      { interval: 50 },
    )
    const [stuck] = (await ada(JOBS, { state: 'ACTIVE' })).jobs.nodes
    const { node } = await ada('query ($id: ID!) { node(id: $id) { __typename ... on Job { id attempts } } }', stuck)
    expect(node).toEqual({ __typename: 'Job', id: stuck.id, attempts: 2 })
    expect(await clients.as('stranger')('query ($id: ID!) { node(id: $id) { id } }', { id: `${stuck.id}0` })).toEqual({
      node: null,
    })
    expect(stuck.ageSeconds).toBeGreaterThan(3_599)
    expect(Date.parse(stuck.startedAt) - Date.parse(stuck.createdAt)).toBeGreaterThan(3_500_000)
    expect(await ada('{ memoryAudit { waitingJobs queueAgeSeconds } }')).toEqual({
      memoryAudit: { waitingJobs: 0, queueAgeSeconds: null },
    })

    release()
    await vi.waitFor(
      async () =>
        expect((await ada(JOBS, { state: 'COMPLETED' })).jobs.nodes).toMatchObject([
          { id: stuck.id, state: 'COMPLETED', attempts: 2, lastError: null },
        ]),
      { interval: 50 },
    )
    expect(await ada(JOBS, { state: 'WAITING' })).toEqual({ jobs: { nodes: [] } })
    expect(await ada(JOBS, { first: 0 })).toEqual({ jobs: { nodes: [] } })
    expect(await clients.failure(JOBS, { first: 1000 })).toMatchObject([{ extensions: { code: 'INVALID_INPUT' } }])
  })

  it("lists the jobs of the viewer's tenant, for the viewer and no other user: unfinished jobs first", async () => {
    const conversationId = await clients.newConversation(['ada'], { title: 'people' })
    const automatic = { titles: false, threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 2 }
    stop = await startJobs({ ...clients.deps, automatic, factServices: withHangingWriter() })
    const makeProfileDue = async (actor: string) => {
      for (let n = 0; n < 2; n++) await clients.append(conversationId, 'hello', { actor })
      await vi.waitFor(
        async () =>
          expect((await clients.as(actor)(JOBS)).jobs.nodes).toContainEqual(expect.objectContaining({ userId: actor })),
        { interval: 50 },
      )
    }
    // Ada's turns in the conversation of the previous test also count.
    for (const actor of ['ada', 'eve', 'finn']) await makeProfileDue(actor)
    for (const [actor, job] of [
      ['ada', { name: 'REFRESH_PROFILE', state: 'ACTIVE', userId: 'ada', conversation: null }],
      ['eve', { state: 'ACTIVE', userId: 'eve' }],
      ['finn', { state: 'WAITING', userId: 'finn', startedAt: null, attempts: 0, lastError: null }],
    ] as const) {
      await vi.waitFor(
        async () => {
          const { nodes } = (await clients.as(actor)(JOBS)).jobs
          expect(nodes[0]).toMatchObject(job)
          expect(nodes.filter(({ userId }: { userId: string | null }) => userId !== null && userId !== actor)).toEqual(
            [],
          )
        },
        { interval: 50 },
      )
    }
    const {
      memoryAudit: { waitingJobs, queueAgeSeconds },
    } = await clients.as('finn')('{ memoryAudit { waitingJobs queueAgeSeconds } }')
    expect(waitingJobs).toBe(1)
    expect(queueAgeSeconds).toBeGreaterThanOrEqual(0)
    const { rows } = await sql(clients.deps.pool).query(
      `UPDATE pgboss.job SET data = jsonb_set(data, '{tenant}', '"other"') WHERE state = 'created' RETURNING id`,
    )
    expect(rows).toHaveLength(1)
    expect((await clients.as('finn')(JOBS, { state: 'WAITING' })).jobs.nodes).toEqual([])
  })

  it.runIf(isLong)(
    'lists the jobs of a MEMBERS conversation, and of a user known only from it, for its participants only',
    async () => {
      const visibility = 'MEMBERS' as const
      const zoe = { tenant: TENANT, actor: 'zoe' }
      const { conversation } = await createConversation(clients.deps, zoe, { visibility })
      const { id } = conversation
      for (let n = 0; n < 51; n++) {
        await appendTurn(clients.deps, zoe, { conversationId: id, turn: { role: 'USER', content: `turn ${n}` } })
      }
      const automatic = { titles: false, threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 2 }
      stop = await startJobs({ ...clients.deps, automatic, factServices: withHangingWriter() })
      const listed = async (actor: string) =>
        (await clients.as(actor)(JOBS)).jobs.nodes.map(
          ({ userId, name }: { userId: string | null; name: string }) => userId ?? name,
        )
      await vi.waitFor(async () => expect(await listed('zoe')).toEqual(expect.arrayContaining(['COMPACT', 'zoe'])), {
        interval: 50,
      })
      const others = await listed('ada')
      expect(others).not.toContain('zoe')
      expect(
        (await clients.as('ada')(JOBS)).jobs.nodes.map(({ conversation }: { conversation: object }) => conversation),
      ).not.toContainEqual(expect.objectContaining({ id }))
    },
  )
})
