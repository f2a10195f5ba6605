// Reads a page of each conversation's transcript, for any number of conversations in one statement, from the index
// turn_place (conversation_id, root_seq, seq). Uses pg's named statements, because every transcript query reads a page
// (`npm run bench -- http`).

import { readOf, readOne, type Read } from '../../db/read.ts'
import type { Pool } from '../../db/tenant-pool.ts'
import type { Role } from '../../generated/enums.ts'
import { partsSoFar, textSoFar } from './streaming/open-content.ts'
import { selectedColumns, TURN_COLUMNS, turnOf, type TurnRow } from './turn-columns.ts'
import { turnJson, type TurnTemplate } from './turn-json.ts'
import { empty, parameter, raw, sql, type Sql } from '../kernel/sql.ts'
import { among, howMany, newest, VIEWER, views, visible, type HowMany } from '../kernel/visible.ts'

/** Sort key of a version in a transcript, which is ordered by position, then by seq. */
export type TurnPosition = { position: number; seq: number }

export type TurnPage = {
  /** Maximum number of turns to read per conversation; for a page, one more than its size, which shows whether more exist. */
  limit: number
  /**
   * Maximum size of the turns of each conversation, in bytes as the database estimates them. The first turn is always
   * read.
   */
  maxBytes: number
  /** The end of the transcript to start from. */
  from: 'oldest' | 'newest'
  /** Only turns strictly between these positions. */
  after?: TurnPosition | null
  before?: TurnPosition | null
  includeSuperseded?: boolean
  actors?: readonly string[] | null
  roles?: readonly Role[] | null
  /** Only turns created in [createdAfter, createdBefore). */
  createdAfter?: Date | null
  createdBefore?: Date | null
  pinned?: boolean | null
  /** Only versions with a seq greater than this, and those in `closedIds`. */
  sinceSeq?: number | null
  /** Ids of versions that `sinceSeq` does not exclude (read-changes-since.ts). */
  closedIds?: readonly string[] | null
}

/** Estimated size of a token, in bytes. */
const BYTES_PER_TOKEN = 4
/** Maximum value of root_seq and seq. */
const MAX_SEQ = 2_147_483_647

// Postgres knows these sizes without reading values stored outside of the rows. Parts may be compressed, so their size
// is estimated as at least BYTES_PER_TOKEN for each token.
const SIZE = `octet_length(t.text) + coalesce(pg_column_size(t.metadata), 0) + coalesce(pg_column_size(t.sources), 0)
  + CASE WHEN t.parts IS NULL THEN 0 ELSE greatest(pg_column_size(t.parts), ${BYTES_PER_TOKEN} * t.token_count) END`

/** The text of the turn, or the text so far of an open turn. */
const TEXT = `CASE WHEN t.status = 'STREAMING' THEN ${textSoFar('t.id')} ELSE t.text END`
/** The parts of the turn, or those so far of an open turn, as a list of OpenPart. Null for none. */
const PARTS = `CASE WHEN t.status = 'STREAMING' THEN ${partsSoFar('t.id')}::jsonb ELSE t.parts END`

// The CASE is for the planner. Without it, the planner expects almost no turn to match, so it would read and sort whole
// conversations. With it, the planner expects half of the turns to match, so it reads the index until the page is full.
/**
 * At most `limit` turns `t` of view `v`, ending with the first one that exceeds the maximum size. `total` is the running
 * total of `bytes`.
 */
const turnsOf = (direction: 'ASC' | 'DESC', conversationId: string, only: Sql) => sql`(
    SELECT t.*, row_number() OVER w AS rank, sum(t.bytes) OVER w AS total
    FROM (
      SELECT ${TURN_COLUMNS}, least(${raw(SIZE)}, $15::integer) AS bytes
      FROM turn t
      WHERE t.conversation_id = ${raw(conversationId)}
        AND (t.root_seq, t.seq) > ($5::integer, $6::integer) AND (t.root_seq, t.seq) < ($7::integer, $8::integer) ${only}
        AND CASE WHEN ${visible()}
          AND ($9::boolean OR ${newest('t', 'v', conversationId)})
          AND ($10::text[] IS NULL OR t.actor = ANY ($10::text[]))
          AND ($11::role[] IS NULL OR t.role = ANY ($11::role[]))
          AND ($12::timestamptz IS NULL OR t.created_at >= $12::timestamptz)
          AND ($13::timestamptz IS NULL OR t.created_at < $13::timestamptz)
          AND ($17::boolean IS NULL OR t.pinned = $17::boolean)
          AND ($14::integer IS NULL OR t.seq > $14::integer OR t.id = ANY ($16::text[]))
        THEN true ELSE false END
      ORDER BY t.root_seq ${raw(direction)}, t.seq ${raw(direction)}
      LIMIT $4::integer) t
    WINDOW w AS (ORDER BY t."position" ${raw(direction)}, t.seq ${raw(direction)} ROWS UNBOUNDED PRECEDING)) t
  WHERE t.total - t.bytes <= $15::integer`

/** Whether turn `t` belongs to the page. A turn that was read but does not belong to it means that more turns exist. */
const ON_PAGE = raw('(t.rank < $4::integer AND t.total <= $15::integer)')

/** The SELECT from the turns of view `v`: a row for each turn, or one row with all of them as JSON. */
const SELECTIONS = {
  rows: (turns: Sql) =>
    sql`SELECT ${selectedColumns({ text: TEXT, parts: PARTS })}, t.total > $15::integer FROM ${turns}`,
  json: (turns: Sql) => sql`
    SELECT v.id, string_agg(${turnJson(parameter(18), parameter(20), TEXT)}, ',' ORDER BY t."position", t.seq) FILTER (WHERE ${ON_PAGE}),
      count(*) FILTER (WHERE ${ON_PAGE})::integer, coalesce(bool_or(NOT ${ON_PAGE}), false),
      min(ARRAY[t."position", t.seq]) FILTER (WHERE $19::boolean AND ${ON_PAGE}),
      max(ARRAY[t."position", t.seq]) FILTER (WHERE $19::boolean AND ${ON_PAGE})
    FROM ${turns}`,
}
type Form = keyof typeof SELECTIONS

function statement(form: Form, direction: 'ASC' | 'DESC', conversationIds: HowMany, only: Sql = empty): string {
  // A condition on the parameter lets Postgres read only one partition (partitions.ts).
  const conversationId = conversationIds === 'one' ? '($3::text[])[1]' : 'v.id'
  const selected = SELECTIONS[form](turnsOf(direction, conversationId, only))
  return sql`
  SELECT t.* FROM (${views(VIEWER, among(parameter(3), conversationIds))}) v CROSS JOIN LATERAL (${selected}) t`.text
}

const statementsOf = (form: Form, prefix: string) => ({
  oldest: {
    one: { name: `${prefix}-of-conversation-from-oldest`, text: statement(form, 'ASC', 'one') },
    many: { name: `${prefix}-from-oldest`, text: statement(form, 'ASC', 'many') },
    // The condition uses the partial index turn_pinned, so that other turns are not read.
    pinned: { name: `${prefix}-pinned-from-oldest`, text: statement(form, 'ASC', 'many', raw('AND t.pinned')) },
  },
  newest: {
    one: { name: `${prefix}-of-conversation-from-newest`, text: statement(form, 'DESC', 'one') },
    many: { name: `${prefix}-from-newest`, text: statement(form, 'DESC', 'many') },
    pinned: { name: `${prefix}-pinned-from-newest`, text: statement(form, 'DESC', 'many', raw('AND t.pinned')) },
  },
})
const STATEMENTS = { rows: statementsOf('rows', 'page-turns'), json: statementsOf('json', 'page-turn-json') }

type PageViewer = { tenant: string; actor: string }

/** Returns the statement of the page, with its values. */
const statementOf = (form: Form, viewer: PageViewer, conversationIds: readonly string[], page: TurnPage) => ({
  rowMode: 'array' as const,
  ...STATEMENTS[form][page.from][page.pinned ? 'pinned' : howMany(conversationIds)],
  values: [
    viewer.tenant,
    viewer.actor,
    conversationIds,
    page.limit,
    page.after?.position ?? 0,
    page.after?.seq ?? 0,
    page.before?.position ?? MAX_SEQ,
    page.before?.seq ?? MAX_SEQ,
    page.includeSuperseded ?? false,
    page.actors ?? null,
    page.roles ?? null,
    page.createdAfter ?? null,
    page.createdBefore ?? null,
    page.sinceSeq ?? null,
    page.maxBytes,
    page.closedIds ?? null,
    page.pinned ?? null,
  ] as unknown[],
})

/** `isCut`: whether `maxBytes` excluded turns that `limit` would have included. */
export type TurnsRead = { turns: TurnRow[]; isCut: boolean }

/**
 * The turns of each conversation that the viewer sees, starting from `page.from`. Conversations without turns have no
 * key. The text of an open turn is its text so far, and its parts are a list of OpenPart.
 */
export const turnPagesRead = (
  viewer: PageViewer,
  conversationIds: readonly string[],
  page: TurnPage,
): Read<Map<string, TurnsRead>> => readOf(statementOf('rows', viewer, conversationIds, page), pagesOf)

function pagesOf(rows: readonly (readonly unknown[])[]): Map<string, TurnsRead> {
  const pages = new Map<string, TurnsRead>()
  for (const row of rows) {
    const turn = turnOf(row)
    const read = pages.get(turn.conversationId)
    if (read && row.at(-1) === true) read.isCut = true
    else if (read) read.turns.push(turn)
    else pages.set(turn.conversationId, { turns: [turn], isCut: false })
  }
  return pages
}

/** Runs `turnPagesRead`. */
export const pageTurns = (
  pool: Pool,
  viewer: PageViewer,
  conversationIds: readonly string[],
  page: TurnPage,
): Promise<Map<string, TurnsRead>> => readOne(pool, viewer.tenant, turnPagesRead(viewer, conversationIds, page))

export type TurnJsonRead = {
  /** A JSON list of the page's turns: at most `limit` - 1, oldest first. */
  json: string
  /** Number of turns in the list. */
  count: number
  /** Whether more turns match in the direction of the page. */
  isMore: boolean
  /** The positions of the first and the last turn; empty if the list is empty or `withEnds` is false. */
  ends: TurnPosition[]
}

/**
 * Like `turnPagesRead`, but renders the turns as JSON, oldest first. A conversation without turns has an empty list; a
 * conversation that the viewer does not see has no key.
 */
export function turnJsonPagesRead(
  viewer: PageViewer,
  conversationIds: readonly string[],
  page: TurnPage,
  { format, withCursors, withEnds }: TurnTemplate,
): Read<Map<string, TurnJsonRead>> {
  const { values, ...named } = statementOf('json', viewer, conversationIds, page)
  return readOf(
    { ...named, values: [...values, format, withEnds, withCursors] },
    (rows: JsonRow[]) => new Map(rows.map(jsonPageOf)),
  )
}

/** A row of `SELECTIONS.json`. */
type JsonRow = [id: string, json: string | null, count: number, isMore: boolean, ...ends: ([number, number] | null)[]]

const jsonPageOf = ([id, json, count, isMore, ...ends]: JsonRow): [string, TurnJsonRead] => [
  id,
  {
    json: `[${json ?? ''}]`,
    count,
    isMore,
    ends: ends.flatMap((end) => (end ? { position: end[0], seq: end[1] } : [])),
  },
]
