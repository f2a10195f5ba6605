// Reads a page of each conversation's transcript, for any number of conversations in one statement, from the index
// turn_place (conversation_id, root_seq, seq). Uses pg's named statements, because every transcript query reads a page
// (`npm run bench -- http`).

import { readOf, readOne, type Read } from '../../read.ts'
import type { Pool } from '../../tenant-pool.ts'
import type { Role } from '../../generated/enums.ts'
import { SELECTED_COLUMNS, TURN_COLUMNS, turnOf, type TurnRow } from './turn-columns.ts'
import { empty, parameter, raw, sql, type Sql } from '../sql.ts'
import { among, howMany, newest, VIEWER, views, visible, type HowMany } from '../visible.ts'

/** Sort key of a version in a transcript, which is ordered by position, then by seq. */
export type TurnPosition = { position: number; seq: number }

export type TurnPage = {
  /** Maximum number of turns per conversation. */
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

// The CASE is for the planner. Without it, the planner expects almost no turn to match, so it would read and sort whole
// conversations. With it, the planner expects half of the turns to match, so it reads the index until the page is full.
const statement = (direction: 'ASC' | 'DESC', conversationIds: HowMany, only: Sql = empty) => {
  // A condition on the parameter lets Postgres read only one partition (partitions.ts).
  const conversationId = conversationIds === 'one' ? '($3::text[])[1]' : 'v.id'
  return sql`
  SELECT ${SELECTED_COLUMNS}, t.total > $15::integer
  FROM (${views(VIEWER, among(parameter(3), conversationIds))}) v
  CROSS JOIN LATERAL (
    SELECT t.*, sum(t.bytes) OVER (ORDER BY t."position" ${raw(direction)}, t.seq ${raw(direction)}
                                   ROWS UNBOUNDED PRECEDING) AS total
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
      LIMIT $4::integer) t) t
  -- One turn beyond the maximum shows that there are more.
  WHERE t.total - t.bytes <= $15::integer`.text
}

const STATEMENTS = {
  oldest: {
    one: { name: 'page-turns-of-conversation-from-oldest', text: statement('ASC', 'one') },
    many: { name: 'page-turns-from-oldest', text: statement('ASC', 'many') },
  },
  newest: {
    one: { name: 'page-turns-of-conversation-from-newest', text: statement('DESC', 'one') },
    many: { name: 'page-turns-from-newest', text: statement('DESC', 'many') },
  },
}
// The condition uses the partial index turn_pinned, so that other turns are not read.
const PINNED = {
  oldest: { name: 'page-pinned-turns-from-oldest', text: statement('ASC', 'many', raw('AND t.pinned')) },
  newest: { name: 'page-pinned-turns-from-newest', text: statement('DESC', 'many', raw('AND t.pinned')) },
}

/** `isCut`: whether `maxBytes` excluded turns that `limit` would have included. */
export type TurnsRead = { turns: TurnRow[]; isCut: boolean }

type PageViewer = { tenant: string; actor: string }

/**
 * The turns of each conversation that the viewer sees, starting from `page.from`. Conversations without turns have no
 * key.
 */
export const turnPagesRead = (
  viewer: PageViewer,
  conversationIds: readonly string[],
  page: TurnPage,
): Read<Map<string, TurnsRead>> =>
  readOf(
    {
      rowMode: 'array',
      ...(page.pinned ? PINNED[page.from] : STATEMENTS[page.from][howMany(conversationIds)]),
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
      ],
    },
    pagesOf,
  )

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
