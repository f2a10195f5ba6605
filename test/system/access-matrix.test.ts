// The access matrix: every operation of the schema (columns, operations.ts), sent by each viewer from whom objects are
// hidden (rows, rows.ts). Each answer must equal that of a control tenant without these objects, must not contain their
// text, and must leave their rows unchanged and unlocked. A new field of the schema is covered without a new case.
//
// The short run sends a random sample of the cells over HTTP; a failure prints its seed, which MATRIX_SEED repeats. The
// long run sends all cells, and plain calls also over WebSocket and Server-Sent Events.

import fc from 'fast-check'
import { isInterfaceType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { schema } from '../../src/graphql/schema.ts'
import { backends } from '../support/backend.ts'
import type { RootField } from '../support/generated-operations.ts'
import { isLong } from '../support/long.ts'
import { afterVacuum } from '../support/rows.ts'
import { serveAlso, useServer } from '../support/server.ts'
import { sql } from '../support/sql.ts'
import {
  allNormalized,
  answerOf,
  closeClients,
  follow,
  type Headers,
  type TransportName,
} from './access-matrix/answers.ts'
import { CANARY, fill, headersOf, type FilledWorld, type Side } from './access-matrix/filled-world.ts'
import { rowsContaining, rowsOfConversation } from './access-matrix/hidden-rows.ts'
import { fields, operationsFor, type Operation } from './access-matrix/operations.ts'
import { testAudience, testParticipants } from './access-matrix/participants.ts'
import { ROWS, WITHOUT_POLICIES, type Row } from './access-matrix/rows.ts'
import { testWhisperEvents } from './access-matrix/whisper-events.ts'

const LIMITS = {
  MAX_QUERY_TOKENS: '100000',
  MAX_QUERY_FIELDS: '100000',
  MAX_QUERY_ALIASES: '10000',
  MAX_QUERY_REPEATS: '10000',
  MAX_QUERY_VALUES: '100000000',
}
const AUTOMATIC = { titles: false, threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 0 }

const SEED = Number(process.env.MATRIX_SEED ?? Date.now() % 2 ** 31)
const SEED_TEXT = `MATRIX_SEED=${SEED}`
/** Size of the short run: viewers per field, operations per viewer and field, and fields without policies. */
const SAMPLE = { viewers: 1, operations: 2, fieldsWithoutPolicies: 12 }
/**
 * Returns `size` of the items in their order, chosen by the seed and by `key`, so that a failing cell is also chosen if
 * only its test runs. In the long run, returns all.
 */
function sampleOf<T>(items: readonly T[], size: number, key: number): readonly T[] {
  if (isLong || items.length <= size) return items
  const all = fc.shuffledSubarray([...items.keys()], { minLength: size, maxLength: size })
  const [chosen] = fc.sample(all, { seed: SEED + key, numRuns: 1 })
  return chosen!.toSorted((a, b) => a - b).map((index) => items[index]!)
}

const STREAMS: TransportName[] = ['WebSocket', 'Server-Sent Events']
function transportsOf({ isFull }: Row, { field, isPlain }: Operation): TransportName[] {
  if (field.startsWith('Subscription.')) return isLong && isFull ? STREAMS : ['WebSocket']
  return isLong && isFull && isPlain ? ['HTTP', ...STREAMS] : ['HTTP']
}

describe.each(backends)('on $name,', (backend) => {
  const server = useServer(backend, LIMITS, { settings: { automatic: AUTOMATIC } })
  const withKeys = serveAlso(server, { ...LIMITS, AUTH_MODE: 'keys' })
  const headers = new Map<Row, { subject: Headers; control: Headers }>()
  let filled: FilledWorld

  beforeAll(async () => {
    const rows = [...ROWS, WITHOUT_POLICIES]
    filled = await fill(server, rows)
    for (const row of rows) {
      const { subject, control } = filled.pairOf(row)
      headers.set(row, {
        subject: await headersOf(server, row, subject),
        control: await headersOf(server, row, control),
      })
    }
    await readBaseline()
  })
  afterAll(closeClients)

  const urlOf = (row: Row) => (row.key ? withKeys.url : server.url)
  let texts = 0

  /**
   * Sends the operation to both sides of the row, and returns the answers. The audit log has one line for equal records
   * that it writes together, so it writes those of each answer at once: the time that the answers take must not decide
   * how many lines a side has.
   */
  async function answers(row: Row, operation: Operation, transport: TransportName): Promise<[string[], string[]]> {
    const { subject, control } = filled.pairOf(row)
    const text = `plain${++texts}`
    async function send(to: Side, with_: Headers): Promise<string[]> {
      const answer = await answerOf(transport, urlOf(row), operation.request(row, to.ids, text), with_)
      // The same request continues an erasure that took longer than INLINE_MS.
      const isUnfinished = operation.field === 'Mutation.eraseUser' && answer.join().includes('"receipt":null')
      if (isUnfinished) return send(to, with_)
      await server.deps.audit.flush()
      return answer
    }
    return [await send(subject, headers.get(row)!.subject), await send(control, headers.get(row)!.control)]
  }

  /**
   * Subscribes on both sides, and returns the events. While an inbox is open, it changes the hidden conversation, and
   * then adds the viewer to a conversation, whose event proves that earlier events have arrived. Other subscriptions
   * are refused.
   */
  async function events(row: Row, operation: Operation, transport: TransportName): Promise<[string[], string[]]> {
    const { subject, control, hidden } = filled.pairOf(row)
    const isInbox = operation.field === 'Subscription.inbox'
    const viewer = row.as ?? row.actor ?? 'anonymous'
    const [first, last] = [`first${++texts}`, `last${texts}`]
    const addViewer = async (title: string) => {
      const given = { title, participants: [{ actor: viewer }] }
      const create = async ({ tenant }: Side) =>
        (await createConversation(server.deps, tenant.as('owner'), given)).conversation.id
      return [await create(subject), await create(control)]
    }
    if (isInbox) {
      const ids = await addViewer(first)
      for (const [index, { tenant }] of [subject, control].entries()) await tenant.append(ids[index]!, 'owner', first)
    }
    const start = (to: Side, sent: Headers) =>
      follow(transport, urlOf(row), operation.request(row, to.ids, first), sent)
    const streams = [start(subject, headers.get(row)!.subject), start(control, headers.get(row)!.control)]
    for (const each of streams) await each.until(isInbox ? first : '')
    if (isInbox) {
      await hidden.tenant.append(hidden.ids.conversation, 'ann', CANARY, { audience: ['bot'] })
      await addViewer(last)
      for (const each of streams) await each.until(last)
    }
    for (const each of streams) await each.stop()
    await server.deps.audit.flush()
    return [streams[0]!.events, streams[1]!.events]
  }

  async function expectEqualAnswers(row: Row, operation: Operation): Promise<void> {
    for (const transport of transportsOf(row, operation)) {
      const cell = `${row.name}, ${operation.field}, ${operation.label}, over ${transport}, ${SEED_TEXT}`
      const isSubscription = operation.field.startsWith('Subscription.')
      const [answer, expected] = await (isSubscription ? events : answers)(row, operation, transport)
      const hasGaps = row.of === 'WHISPER'
      expect(answer.join('\n'), `text of hidden objects reached ${cell}`).not.toContain(CANARY)
      expect(answer.join('\n'), cell).not.toMatch(/INTERNAL_ERROR|GRAPHQL_VALIDATION|GRAPHQL_PARSE|"VALIDATION"/)
      expect(allNormalized(answer, hasGaps), cell).toEqual(allNormalized(expected, hasGaps))
    }
  }

  const viewersOf = (rows: readonly Row[], field: RootField) => {
    const asking = rows.filter((row) => operationsFor(row, field).length > 0)
    return sampleOf(asking, SAMPLE.viewers, fields.indexOf(field))
  }

  async function send(row: Row, field: RootField): Promise<void> {
    for (const operation of sampleOf(operationsFor(row, field), SAMPLE.operations, fields.indexOf(field)))
      await expectEqualAnswers(row, operation)
    // Subscriptions change the hidden conversation on purpose.
    if (field.kind === 'subscription') {
      locks.clear()
      await readBaseline()
    }
  }

  /** The hidden rows, with their locks, after the last mutation. */
  const locks = new Map<'MEMBERS' | 'WHISPER', Awaited<ReturnType<typeof rowsOfConversation>>>()

  /** Sends the operations of a mutation as each viewer, and checks after each viewer that no hidden row has changed. */
  async function expectNoChange(rows: readonly Row[], field: RootField): Promise<void> {
    const viewers = viewersOf(rows, field)
    for (const row of viewers) {
      const read = () => rowsOfConversation(server.deps.pool, row, filled.pairOf(row))
      const kind = row.of === 'WHISPER' ? 'WHISPER' : 'MEMBERS'
      const before = locks.get(kind) ?? (await read())
      await send(row, field)
      const after = await read()
      locks.set(kind, after)
      expect(after, `rows changed or locked by ${row.name}, ${field.name}, ${SEED_TEXT}`).toEqual(
        afterVacuum(before, after),
      )
    }
    if (isLong) await expectNoRowChanged(`${viewers.map(({ name }) => name).join(', or ')}, ${field.name}`)
  }

  const KINDS = ['MEMBERS', 'WHISPER'] as const
  /** Reads the rows of all tables that contain ids of objects that are hidden from viewers of the kind. */
  const rowsWithIds = (of: (typeof KINDS)[number]) =>
    of === 'WHISPER'
      ? rowsContaining(server.deps.pool, filled.whisper.hidden.ids, 'OBJECTS')
      : rowsContaining(server.deps.pool, filled.members.hidden.ids, 'CONVERSATION')
  const baseline = new Map<(typeof KINDS)[number], Awaited<ReturnType<typeof rowsWithIds>>>()
  async function readBaseline(): Promise<void> {
    for (const of of KINDS) baseline.set(of, await rowsWithIds(of))
  }
  async function expectNoRowChanged(by: string): Promise<void> {
    const before = new Map(baseline)
    await readBaseline()
    for (const [of, rows] of baseline) expect(rows, `rows changed by ${by}, ${SEED_TEXT}`).toEqual(before.get(of))
  }

  const named = (kind: RootField['kind']) =>
    fields.filter((field) => field.kind === kind).map((field) => [field.name, field] as const)

  describe('queries show nothing hidden:', () => {
    it.each(named('query'))('%s', async (_, field) => {
      for (const row of viewersOf(ROWS, field)) await send(row, field)
    })
    it('and change no row', () => expectNoRowChanged('a query'))
  })

  // After the queries, because its recall marks facts, which memoryAudit counts.
  testAudience(server, () => filled)

  it.each(named('subscription'))('subscriptions show nothing hidden: %s', async (_, field) => {
    for (const row of viewersOf(ROWS, field)) await send(row, field)
  })

  describe('mutations show and change nothing hidden:', () => {
    it.each(named('mutation'))('%s', async (_, field) => expectNoChange(ROWS, field))
    it('and change no other row', () => expectNoRowChanged('a mutation'))
  })

  testParticipants(server, () => filled)
  testWhisperEvents(server, () => filled)

  describe('only the conditions of the statements hide objects of another tenant:', () => {
    beforeAll(async () => {
      // The tests above change the conversations.
      locks.clear()
      await readBaseline()
      const { rows } = await sql(server.deps.pool).query('SELECT polrelid::regclass AS name FROM pg_policy GROUP BY 1')
      for (const { name } of rows) await sql(server.deps.pool).query(`ALTER TABLE ${name} DISABLE ROW LEVEL SECURITY`)
    })
    const chosen = sampleOf(fields, SAMPLE.fieldsWithoutPolicies, 0)
    it.each(chosen.map((field) => [field.name, field] as const))('%s', async (_, field) =>
      field.kind === 'mutation' ? expectNoChange([WITHOUT_POLICIES], field) : send(WITHOUT_POLICIES, field),
    )
  })
})

it('nodes of every type are requested by their ids', () => {
  // Outsiders request jobs and profiles with `jobs` and `userProfile`; an ApiKey, a Transfer and a Viewer
  // are not in a conversation.
  const node = schema.getType('Node')
  const types = isInterfaceType(node) ? schema.getPossibleTypes(node).filter(isObjectType) : []
  expect(types.map(({ name }) => name).sort()).toEqual([
    'ApiKey',
    'Approval',
    'Conversation',
    'Fact',
    'Job',
    'Participant',
    'Run',
    'SharedState',
    'Summary',
    'Transfer',
    'Turn',
    'UserProfile',
    'Viewer',
  ])
})
