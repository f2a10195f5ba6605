// Calls the SQL function append_plain_turns (prisma/functions/append_plain_turns.sql), which writes plain turns in
// about half the time of append_turns, because its statements have fewer stages and typed parameters.

import { runSteps, runStepsYielding } from '../../../yield.ts'
import { binaryIntegers, binaryTexts } from '../../binary-array.ts'
import type { Pool } from '../../tenant-pool.ts'
import { isLarge, type AppendCall, type AppendedTurn, type AppendRow } from './append-turns.ts'

const isPlainTurn = ({
  status,
  audience,
  replyToId,
  contextId,
  calls,
  results,
  claimHash,
  terms,
}: AppendedTurn): boolean =>
  status === 'COMMITTED'
  && audience == null
  && replyToId == null
  && contextId == null
  && !calls?.length
  && !results?.length
  && claimHash === undefined
  && terms !== undefined

/**
 * Whether append_plain_turns can write the call: all its turns are committed and indexed, without audience, reply,
 * context, tool calls, tool results and claim, and it expects no seq.
 */
export const isPlain = ({ expected, turns }: AppendCall): boolean => expected == null && turns.every(isPlainTurn)

/** The fields that append_plain_turns receives as arrays, and those that it does not write. */
const NOT_IN_REST: ReadonlySet<string> = new Set<keyof AppendedTurn>([
  'id',
  'actor',
  'kind',
  'authorKind',
  'role',
  'status',
  'text',
  'audience',
  'tokens',
  'clientId',
  'clientHash',
  'writerHash',
  'leaseSeconds',
  'claimHash',
  'runHolder',
  'terms',
  'cues',
  'replyToId',
  'contextId',
  'calls',
  'results',
])

/** Returns the other fields, which most turns do not have, as JSON; null if the turn has none of them. */
function restOf(turn: AppendedTurn): string | null {
  let rest: Record<string, unknown> | null = null
  for (const [name, value] of Object.entries(turn)) {
    if (value == null || value === false || NOT_IN_REST.has(name)) continue
    rest ??= {}
    rest[name] = value
  }
  return rest && JSON.stringify(rest)
}

// Arrays in Postgres' text format. pg also quotes and escapes numbers, one by one, which takes longer than the rest of
// the call.
const numbers = (values: readonly (number | null)[]): string => `{${values.map((each) => each ?? 'NULL').join()}}`
const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`
const texts = (values: readonly (string | null)[]): string =>
  `{${values.map((each) => (each === null ? 'NULL' : quoted(each))).join()}}`

/** Returns the array, or null if all its elements are null. */
const textsUnlessNull = (values: readonly (string | null)[]): string | null =>
  values.some((value) => value !== null) ? texts(values) : null

/** Returns `restOf` of all turns, encoded in steps; null if all are null. */
function* encodeRest(turns: readonly AppendedTurn[]): Generator<void, Buffer | null> {
  const rest: (string | null)[] = []
  for (const turn of turns) {
    rest.push(restOf(turn))
    yield
  }
  return rest.some((each) => each !== null) ? yield* binaryTexts('jsonb', rest) : null
}

/**
 * Returns the parameters of append_plain_turns after the tenant, and the place of each turn by id: its call, and its
 * index.
 */
function* toArrays(calls: readonly AppendCall[], inSteps: boolean) {
  const places = new Map<string, { call: number; index: number }>()
  const indices = new Map<string, number>()
  const [conversations, counts, sums]: [string[], number[], number[]] = [[], [], []]
  const turns: AppendedTurn[] = []
  const [of, nth, ends]: [number[], number[], number[]] = [[], [], []]
  let end = 0
  for (const [call, { conversationId, turns: ofCall }] of calls.entries()) {
    let at = indices.get(conversationId)
    if (at === undefined) {
      indices.set(conversationId, (at = conversations.length))
      conversations.push(conversationId)
      counts.push(0)
      sums.push(0)
    }
    for (const [index, turn] of ofCall.entries()) {
      places.set(turn.id, { call, index })
      turns.push(turn)
      of.push(at + 1)
      nth.push((counts[at]! += 1))
      sums[at]! += turn.tokens
      ends.push((end += turn.terms!.length))
    }
  }
  const values = [
    texts(conversations),
    numbers(counts),
    numbers(sums),
    texts(turns.map(({ id }) => id)),
    numbers(of),
    numbers(nth),
    texts(turns.map(({ actor }) => actor)),
    texts(turns.map(({ role }) => role)),
    inSteps
      ? yield* binaryTexts(
          'text',
          turns.map(({ text }) => text),
        )
      : texts(turns.map(({ text }) => text)),
    numbers(turns.map(({ tokens }) => tokens)),
    inSteps && end > 0
      ? yield* binaryIntegers(turns.map(({ terms }) => terms!))
      : `{${turns.flatMap(({ terms }) => terms!).join()}}`,
    numbers(ends),
    numbers(turns.map(({ cues }) => cues ?? null)),
    textsUnlessNull(turns.map(({ clientId }) => clientId ?? null)),
    textsUnlessNull(turns.map(({ clientHash }) => clientHash ?? null)),
    textsUnlessNull(turns.map(({ authorKind }) => authorKind ?? null)),
    inSteps ? yield* encodeRest(turns) : textsUnlessNull(turns.map(restOf)),
  ]
  return { values, places }
}

type PlainRow = { id: string; seq: number; stopped: boolean; createdAt: Date; mentions: string[] | null }

/**
 * Runs plain calls of one tenant, and returns the outcomes of those that were written, unordered. A call has no row,
 * and must be run by append_turns, if its conversation is locked or unknown, one of its authors is not a present
 * participant of the kind of its credential, or one of its clientIds has been used.
 * @param inSteps whether the parameters are encoded in steps, by default if the turns are large
 */
export async function appendPlainTurns(
  pool: Pool,
  calls: readonly AppendCall[],
  inSteps = isLarge(calls),
): Promise<AppendRow[]> {
  const { tenant } = calls[0]!
  const steps = toArrays(calls, inSteps)
  const { values, places } = inSteps ? await runStepsYielding(steps) : runSteps(steps)
  const { rows } = await pool.query<PlainRow>({
    scope: tenant,
    name: 'append-plain-turns',
    text: `SELECT id, seq, stopped, created_at AS "createdAt", mentions
           FROM append_plain_turns($1::text, $2::text[], $3::integer[], $4::integer[], $5::text[], $6::integer[],
             $7::integer[], $8::text[], $9::role[], $10::text[], $11::integer[], $12::integer[], $13::integer[],
             $14::smallint[], $15::text[], $16::text[], $17::participant_kind[], $18::jsonb[])`,
    values: [tenant, ...values],
  })
  return rows.map(({ stopped, ...row }) => {
    const outcome = stopped ? ('stopped' as const) : ('written' as const)
    return { ...places.get(row.id)!, ...row, outcome, detail: null, parts: null }
  })
}
