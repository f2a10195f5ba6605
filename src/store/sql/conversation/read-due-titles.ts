// Finds conversations that are due for an automatic title, and reads the turns that the title is made from. Used by
// jobs, so not limited to a tenant.

import { SYSTEM } from '../../db/scope.ts'
import type { Subject } from '../../jobs/job-queue.ts'
import type { Db, Tx } from '../../db/db.ts'
import { raw, sql, type Sql } from '../kernel/sql.ts'

/** Number of turns without an audience after which a title is written. */
const FIRST_TURNS = 2
/**
 * Maximum number of turns that a title is made from, and the value of `title_tried` once a title was written. Until
 * then, each further attempt waits for twice as many turns. The index conversation_untitled contains the same number.
 */
export const TITLE_TURNS = 16
/** Maximum length of the text of a turn that is read, in characters. */
const TEXT_CHARACTERS = 2_000

/** The condition of the index conversation_untitled. */
const UNTITLED = raw(`
  c.automatic_title AND c.title_tried < ${TITLE_TURNS} AND (c.title IS NULL OR c.title_seq IS NOT NULL)`)

/** Whether conversation `c` with journal `j` is due. */
const due: Sql = sql`${UNTITLED} AND j.turn_count >= greatest(${raw(String(FIRST_TURNS))}, 2 * c.title_tried)`

const SELECT = raw(`SELECT c.tenant, c.id AS key FROM conversation c JOIN journal j ON j.conversation_id = c.id`)

/** The given conversations that are due. */
export const readDueTitlesAmong = (db: Db, conversationIds: readonly string[]): Promise<Subject[]> =>
  db.of(SYSTEM).$queryRaw<Subject[]>`${SELECT} WHERE c.id = ANY (${conversationIds}::text[]) AND ${due}`

/** Due conversations with ids after `after`, in order of id, at most `limit`. Uses the index conversation_untitled. */
export const readDueTitles = (db: Db, after: string, limit: number): Promise<Subject[]> =>
  db.of(SYSTEM).$queryRaw<
    Subject[]
  >`${SELECT} WHERE c.id > ${after}::text AND ${due} ORDER BY c.id LIMIT ${limit}::integer`

/** The columns of a conversation that decide whether an automatic title is due. */
export type TitleState = {
  tenant: string
  title: string | null
  titleSeq: number | null
  titleTried: number
  summarizerModel: string | null
  turnCount: number
}

/** The state of the conversation if it is due; otherwise null. */
export async function readTitleState(db: Tx, conversationId: string): Promise<TitleState | null> {
  const rows = await db.$queryRaw<TitleState[]>`
    SELECT c.tenant, c.title, c.title_seq AS "titleSeq", c.title_tried AS "titleTried",
           c.summarizer_model AS "summarizerModel", j.turn_count AS "turnCount"
    FROM conversation c JOIN journal j ON j.conversation_id = c.id
    WHERE c.id = ${conversationId}::text AND ${due}`
  return rows[0] ?? null
}

export type TitleTurn = {
  id: string
  seq: number
  position: number
  actor: string
  role: string
  text: string
  createdAt: Date
}

/**
 * The newest versions of the first committed turns without an audience, by users and assistants, in order of position.
 * Uses the index turn_place.
 */
export const readFirstTurns = (db: Db, tenant: string, conversationId: string): Promise<TitleTurn[]> =>
  db.of(tenant).$queryRaw<TitleTurn[]>`
    SELECT t.id, t.seq, t.root_seq AS position, t.actor, t.role::text, left(t.text, ${raw(String(TEXT_CHARACTERS))}) AS text,
           t.created_at AS "createdAt"
    FROM turn t
    WHERE t.conversation_id = ${conversationId}::text AND t.status = 'COMMITTED' AND t.audience IS NULL
      AND t.superseded_by IS NULL AND t.role IN ('USER', 'ASSISTANT')
    ORDER BY t.root_seq LIMIT ${raw(String(TITLE_TURNS))}`
