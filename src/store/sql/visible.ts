// Who may see what, in SQL: the one fragment that every read goes through. The same rule in TypeScript is
// domain/view.ts; test/domain/view.test.ts holds the two equal.

import { parameter, raw, sql, type Bound, type Sql } from './sql.ts'

/** The viewer of a statement, by value or by parameter. */
export type BoundViewer = { tenant: Bound<string>; actor: Bound<string> }

/** The viewer of a statement for pg: its parameters $1 and $2. */
export const VIEWER: BoundViewer = { tenant: parameter(1), actor: parameter(2) }

/**
 * One view for each conversation: `v (id, tenant, actor, windows, addressed)`. Unknown conversations and those of other
 * tenants have none. `actor` is null for an actor who never was a participant.
 *
 * conversations: a condition on `c.id`.
 */
export const views = ({ tenant, actor }: BoundViewer, conversations: Sql): Sql => sql`
  SELECT c.id, c.tenant, p.actor, coalesce(p.windows, '{1}') AS windows, coalesce(p.addressed, false) AS addressed
  FROM conversation c
  LEFT JOIN participant p ON p.conversation_id = c.id AND p.actor = ${actor}::text
  WHERE c.tenant = ${tenant}::text AND ${conversations}`

export type HowMany = 'one' | 'many'

/**
 * The condition on `c.id` that it is among some conversations. One conversation has a statement of its own, whose plan
 * Postgres keeps. Of a list it expects ten, so that a kept plan looks expensive to it, and it plans each call anew,
 * which takes longer than the call.
 */
export const among = (conversationIds: Bound<readonly string[]>, howMany: HowMany): Sql =>
  howMany === 'one' ? sql`c.id = (${conversationIds}::text[])[1]` : sql`c.id = ANY (${conversationIds}::text[])`

export const howMany = (conversationIds: readonly string[]): HowMany => (conversationIds.length === 1 ? 'one' : 'many')

const wholeText = (v: string) => `(${v}.windows[1] <= 1 AND cardinality(${v}.windows) = 1)`

/** Whether the view `v` has one window, over everything. */
export const whole = (v = 'v'): Sql => raw(wholeText(v))

/** Whether the view `v` contains turn `t`. */
export const visible = (t = 't', v = 'v'): Sql =>
  raw(`(
  (${wholeText(v)}
   OR width_bucket(${t}.seq, ${v}.windows) % 2 = 1 AND width_bucket(${t}.root_seq, ${v}.windows) % 2 = 1)
  AND (${t}.audience IS NULL OR ${v}.actor = ANY (${t}.audience)))`)

/** Whether turn `t`, being visible, is the newest visible version in its place. Versions share their audience. */
export const newest = (t = 't', v = 'v'): Sql =>
  raw(`(
  ${t}.superseded_by IS NULL OR NOT EXISTS (
    SELECT FROM turn n WHERE n.conversation_id = ${t}.conversation_id AND n.root_seq = ${t}.root_seq
                         AND n.seq > ${t}.seq AND width_bucket(n.seq, ${v}.windows) % 2 = 1))`)

/**
 * Whether the viewer sees fact `f`: if the viewer sees a turn in its place, or if it belongs to no conversation, then
 * every actor of the tenant does. By the keys of conversation and participant.
 */
export const factVisible = (viewer: BoundViewer, f = 'f'): Sql => sql`(
  ${raw(f)}.tenant = ${viewer.tenant}::text AND (${raw(f)}.conversation_id IS NULL OR EXISTS (
    SELECT FROM (${views(viewer, raw(`c.id = ${f}.conversation_id`))}) v WHERE ${visible(f)})))`

/**
 * The same of many facts of the tenant: `f LEFT JOIN v ON v.id = f.conversation_id`, where `v` holds the views of all
 * their conversations. A conversation is then looked up once, and not for each of its facts.
 */
export const factVisibleIn = (f: string, v: string): Sql => sql`(
  ${raw(f)}.conversation_id IS NULL OR coalesce(${visible(f, v)}, false))`
