// Reads the data of conversations that recall caches: the index entry and the vector of each version of a turn,
// regardless of views. One statement reads a whole conversation, by turn_place and the key of turn_vector; the other
// one reads only the turns of newer journal entries. Uses pg's named statements.

import type { Role } from '../../../generated/enums.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import { HALVES_HEADER, readHalves } from '../../../vectors/vector.ts'
import { createYield } from '../../../../runtime/yield.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import type { IndexedTurn } from './indexed-turns.ts'
import { packedColumns, readPacked, type PackedTurns } from './packed-turns.ts'

/** The state in which a cached conversation was read. The conversation is unchanged while all fields are equal. */
export type IndexState = {
  /** Seq of the newest journal entry. */
  lastSeq: number
  /** Position up to which retention has removed content. */
  removedThrough: number
  /** Seq up to which the embedder has processed the journal; 0 before the first time. */
  embeddedThrough: number
}

/** A version of a turn. Only committed versions can be found; the others hide older versions. */
export type IndexedVersion = IndexedTurn & {
  isCommitted: boolean
  role: Role
  /** Null for all participants. */
  audience: readonly string[] | null
  /** Hashes of the terms, repetitions included (domain/memory/indexing/index-entry.ts). */
  terms: Int32Array
  /** Null if the embedder has none. */
  vector: Float32Array | null
}

/** A current or former participant. */
export type NamedParticipant = { conversationId: string; actor: string; displayName: string | null }

/** The versions that were read, unordered, and the positions to which they belong; null for all positions. */
export type ReadIndex = IndexState & {
  versions: IndexedVersion[]
  positions: ReadonlySet<number> | null
  participants: NamedParticipant[]
}

/** The state of a conversation, and the viewer's view of it. */
export type IndexView = {
  state: IndexState
  view: { actor: string | null; windows: readonly number[]; addressed: boolean }
}

/** Columns of the state of conversation `c` with journal `j`. @param embedder parameter or value of its name */
const stateColumns = (embedder: string): Sql =>
  raw(`
  j.last_seq AS "lastSeq", c.removed_through AS "removedThrough",
  coalesce((SELECT k.through_seq FROM embedding_cursor k
            WHERE k.conversation_id = c.id AND k.embedder = ${embedder}::text), 0) AS "embeddedThrough"`)

const ROLES = ['SYSTEM', 'USER', 'ASSISTANT', 'TOOL'] as const satisfies readonly Role[]
/** No embedder has this name. */
const NO_EMBEDDER = ''
/** Bits above those of Cue: whether the version is committed, and the index of its role in ROLES. */
const COMMITTED = 256
const ROLE_SHIFT = 9

const bits = `coalesce(t.cues, 0) + CASE WHEN t.status = 'COMMITTED' THEN ${COMMITTED} ELSE 0 END
  + (CASE t.role ${ROLES.map((role, i) => `WHEN '${role}' THEN ${i << ROLE_SHIFT}`).join(' ')} END)`

/** @param touched the positions to read, as an array; null for all */
const statement = (touched: string | null): string =>
  sql`
  SELECT s.ordinal::integer AS ordinal, ${stateColumns('$4')}, j.salt, g.positions AS touched, p.*, x.vectors,
         (SELECT jsonb_agg(jsonb_build_object('actor', m.actor, 'displayName', m.display_name))
          FROM participant m WHERE m.conversation_id = c.id) AS participants
  FROM unnest($2::text[], $3::integer[]) WITH ORDINALITY AS s(conversation_id, after, ordinal)
  JOIN conversation c ON c.id = s.conversation_id AND c.tenant = $1::text
  JOIN journal j ON j.conversation_id = c.id
  CROSS JOIN LATERAL (SELECT ${raw(touched ?? 'NULL::integer[]')} AS positions) g
  CROSS JOIN LATERAL (
    SELECT ${packedColumns(bits)},
           jsonb_object_agg(t.seq, t.audience) FILTER (WHERE t.audience IS NOT NULL) AS audiences
    FROM turn t WHERE t.conversation_id = c.id ${raw(touched ? 'AND t.root_seq = ANY (g.positions)' : '')}) p
  CROSS JOIN LATERAL (
    SELECT string_agg(int4send(v.seq) || halfvec_send(v.embedding), '') AS vectors
    FROM turn_vector v
    WHERE v.conversation_id = c.id AND v.embedder = $4::text
      ${raw(touched ? 'AND v.root_seq = ANY (g.positions)' : '')}) x`.text

const WHOLE = { name: 'read-turn-index', text: statement(null) }
const NEWER = {
  name: 'read-newer-turn-index',
  text: statement(`ARRAY(
    SELECT DISTINCT t.root_seq FROM entry e JOIN turn t ON t.id = e.turn_id AND t.conversation_id = c.id
    WHERE e.conversation_id = c.id AND e.seq > s.after)`),
}

/** The versions of a conversation. `audiences` is by seq. */
type Row = IndexState
  & PackedTurns & {
    ordinal: number
    salt: number
    audiences: Record<string, string[]> | null
    vectors: Buffer | null
    touched: number[] | null
    participants: Omit<NamedParticipant, 'conversationId'>[] | null
  }

/**
 * Reads the conversations of the tenant. A conversation that does not exist has no key.
 * @param embedder the embedder of the vectors; null reads none
 * @param conversations each with the seq of the entry after which to read. Null reads the conversation whole; then
 * `after` must be null for all of them.
 */
export async function readTurnIndex(
  pool: Pool,
  tenant: string,
  embedder: string | null,
  conversations: readonly { id: string; after: number | null }[],
): Promise<Map<string, ReadIndex>> {
  const { rows } = await pool.query<Row>({
    scope: tenant,
    ...(conversations.some(({ after }) => after !== null) ? NEWER : WHOLE),
    values: [
      tenant,
      conversations.map(({ id }) => id),
      conversations.map(({ after }) => after ?? 0),
      embedder ?? NO_EMBEDDER,
    ],
  })
  const read = new Map<string, ReadIndex>()
  for (const row of rows) {
    const { lastSeq, removedThrough, embeddedThrough, touched, participants } = row
    const conversationId = conversations[row.ordinal - 1]!.id
    read.set(conversationId, {
      lastSeq,
      removedThrough,
      embeddedThrough,
      positions: touched && new Set(touched),
      versions: await unpack(row, conversationId),
      participants: (participants ?? []).map((each) => ({ conversationId, ...each })),
    })
  }
  return read
}

/** The columns of an IndexView of conversation `c` with journal `j` and view `v`. See `toIndexView`. */
export const indexViewColumns = (embedder: string): Sql =>
  sql`${stateColumns(embedder)}, v.actor AS "viewActor", v.windows, v.addressed`

export type IndexViewRow = IndexState & { viewActor: string | null; windows: number[]; addressed: boolean }

export const toIndexView = (row: IndexViewRow): IndexView => ({
  state: { lastSeq: row.lastSeq, removedThrough: row.removedThrough, embeddedThrough: row.embeddedThrough },
  view: { actor: row.viewActor, windows: row.windows, addressed: row.addressed },
})

/** Number of versions after which unpacking checks whether to yield to the event loop. */
const YIELD_AFTER = 64
async function unpack(row: Row, conversationId: string): Promise<IndexedVersion[]> {
  const read = readPacked(row, row.salt)
  if (read === null) return []
  const vectors = unpackVectors(row.vectors)
  const versions: IndexedVersion[] = []
  const yieldIfDue = createYield()
  for (let i = 0; i < read.size; i++) {
    if (i % YIELD_AFTER === 0) await yieldIfDue()
    const seq = read.seq(i)
    const bit = read.bits(i)
    const terms = read.terms(i)
    versions.push({
      conversationId,
      position: read.position(i),
      seq,
      isCommitted: (bit & COMMITTED) !== 0,
      at: read.time(i),
      actor: read.actor(i),
      role: ROLES[bit >> ROLE_SHIFT]!,
      audience: row.audiences?.[seq] ?? null,
      tokens: read.tokens(i),
      cues: bit & (COMMITTED - 1),
      length: terms.length,
      terms,
      vector: vectors.get(seq) ?? null,
    })
  }
  return versions
}

/** Returns the vectors by seq. */
function unpackVectors(packed: Buffer | null): Map<number, Float32Array> {
  const vectors = new Map<number, Float32Array>()
  if (packed === null) return vectors
  for (let at = 0; at < packed.length;) {
    const seq = packed.readInt32BE(at)
    const vector = new Float32Array(packed.readInt16BE(at + 4))
    at += 4 + HALVES_HEADER
    readHalves({ from: packed, to: vector, dimension: vector.length }, at, 0)
    at += 2 * vector.length
    vectors.set(seq, vector)
  }
  return vectors
}
