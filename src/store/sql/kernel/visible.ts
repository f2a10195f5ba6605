// The visibility rules in SQL. Every read on behalf of a viewer uses these fragments. domain/kernel/view.ts implements the
// same rules in TypeScript; test/backend/domain/kernel/view.test.ts checks that the two agree.

import { parameter, raw, sql, type Bound, type Sql } from './sql.ts'

/** The viewer of a statement, by value or by parameter. */
export type BoundViewer = { tenant: Bound<string>; actor: Bound<string> }

/** The viewer of a statement for pg, as its parameters $1 and $2. */
export const VIEWER: BoundViewer = { tenant: parameter(1), actor: parameter(2) }

/**
 * One view for each conversation: `v (id, tenant, actor, windows, addressed)`. Unknown conversations, those of other
 * tenants, and MEMBERS conversations in which the viewer was never a participant have no row. `actor` is null if the
 * viewer was never a participant.
 *
 * @param conversations a condition on `c.id`
 */
export const views = (viewer: BoundViewer, conversations: Sql): Sql => sql`
  SELECT c.id, c.tenant, ${viewColumns('actor')} FROM conversation c ${joinViewer(viewer)}
  WHERE ${conversationVisible(viewer)} AND ${conversations}`

/** The columns of the view of conversation `c`, after `joinViewer`. */
export const viewColumns = (actor: string): Sql =>
  raw(`p.actor AS "${actor}", coalesce(p.windows, '{1}') AS windows, coalesce(p.addressed, false) AS addressed`)

/** Joins the viewer's participation `p` to conversation `c`: that of today, in reads of the past too (scope.ts). */
export const joinViewer = ({ actor }: BoundViewer): Sql =>
  sql`LEFT JOIN public.participant p ON p.conversation_id = c.id AND p.actor = ${actor}::text`

/** Whether the viewer sees that conversation `c` exists, after `joinViewer`. */
export const conversationVisible = ({ tenant }: BoundViewer): Sql =>
  sql`c.tenant = ${tenant}::text AND (c.visibility = 'OPEN' OR p.actor IS NOT NULL)`

/**
 * Whether the viewer sees that the conversation of journal `j` exists. Reads the journal's copy of the visibility, so
 * that a statement that waits for the row's lock checks the newest value. A null actor sees every conversation of the
 * tenant.
 */
export const journalVisible = ({ tenant, actor }: { tenant: Bound<string>; actor: Bound<string | null> }): Sql => sql`(
  j.tenant = ${tenant}::text AND (j.visibility = 'OPEN' OR ${actor}::text IS NULL OR EXISTS (
    SELECT FROM public.participant p WHERE p.conversation_id = j.conversation_id AND p.actor = ${actor}::text)))`

/** Whether a statement is about one conversation or several; see `among`. */
export type HowMany = 'one' | 'many'

/**
 * The condition that `c.id` is among the conversations. A single conversation has a statement of its own, because
 * Postgres plans a statement for a list as if it had ten elements.
 */
export const among = (conversationIds: Bound<readonly string[]>, howMany: HowMany): Sql =>
  howMany === 'one' ? sql`c.id = (${conversationIds}::text[])[1]` : sql`c.id = ANY (${conversationIds}::text[])`

export const howMany = (conversationIds: readonly string[]): HowMany => (conversationIds.length === 1 ? 'one' : 'many')

const seesAllPublicText = (v: string) => `(${v}.windows[1] <= 1 AND cardinality(${v}.windows) = 1)`

/** Whether the view `v` is a single window over the whole conversation. */
export const seesAllPublic = (v = 'v'): Sql => raw(seesAllPublicText(v))

/** Whether the view `v` contains turn `t`. */
export const visible = (t = 't', v = 'v'): Sql =>
  raw(`(
  (${seesAllPublicText(v)}
   OR width_bucket(${t}.seq, ${v}.windows) % 2 = 1 AND width_bucket(${t}.root_seq, ${v}.windows) % 2 = 1)
  AND (${t}.audience IS NULL OR ${v}.actor = ANY (${t}.audience)))`)

/** Whether the last window of the view `v` is open: that of a present participant, and of strangers if OPEN. */
export const present = (v = 'v'): Sql => raw(`cardinality(${v}.windows) % 2 = 1`)

/** Whether the view `v` is of the present, and contains the shared state `s`. */
export const stateVisible = (s = 's', v = 'v'): Sql =>
  sql`(${present(v)} AND (${raw(s)}.audience IS NULL OR ${raw(v)}.actor = ANY (${raw(s)}.audience)))`

/**
 * Whether the visible version `t` is the newest visible version of its turn. All versions have the same audience.
 * @param conversation the conversation's id; if it is a parameter, Postgres reads only one partition (partitions.ts)
 */
export const newest = (t = 't', v = 'v', conversation = `${t}.conversation_id`): Sql =>
  raw(`(
  ${t}.superseded_by IS NULL OR NOT EXISTS (
    SELECT FROM turn n WHERE n.conversation_id = ${conversation} AND n.root_seq = ${t}.root_seq
                         AND n.seq > ${t}.seq AND width_bucket(n.seq, ${v}.windows) % 2 = 1))`)

/**
 * The sources `s` of fact `f` that the viewer sees, as FROM and WHERE. A source is as visible as a turn with the same
 * seqs and audience; a source without a conversation is visible to every actor of the tenant. Uses the keys of
 * fact_source and participant.
 */
export const fromVisibleSources = (viewer: BoundViewer, f = 'f'): Sql => sql`
  FROM fact_source s LEFT JOIN LATERAL (${views(viewer, raw('c.id = s.conversation_id'))}) v ON true
  WHERE s.fact_id = ${raw(f)}.id AND (s.conversation_id IS NULL OR coalesce(${visible('s')}, false))`

const anySourceVisible = (viewer: BoundViewer, f: string): Sql => sql`EXISTS (SELECT ${fromVisibleSources(viewer, f)})`

/** Whether the viewer sees any source of fact `f`. The columns of `f` name its first source, which is checked first. */
export const factVisible = (viewer: BoundViewer, f = 'f'): Sql => sql`(
  ${raw(f)}.tenant = ${viewer.tenant}::text AND (${raw(f)}.conversation_id IS NULL OR EXISTS (
    SELECT FROM (${views(viewer, raw(`c.id = ${f}.conversation_id`))}) v WHERE ${visible(f)})
    OR ${anySourceVisible(viewer, f)}))`

/**
 * `factVisible` for many facts of the tenant, in `f LEFT JOIN v ON v.id = f.conversation_id`, where `v` contains the
 * views of all their conversations. Looks up each conversation once instead of once for each of its facts; other
 * sources are looked up only for facts whose first source is not visible.
 */
export const factVisibleIn = (viewer: BoundViewer, f: string, v: string): Sql => sql`(
  ${raw(f)}.conversation_id IS NULL OR coalesce(${visible(f, v)}, false) OR ${anySourceVisible(viewer, f)})`

/** Whether fact `f` has a source in the conversation. Uses the index fact_source_conversation. */
export const hasSourceIn = (conversationId: Sql, f = 'f'): Sql =>
  sql`${raw(f)}.id IN (SELECT s.fact_id FROM fact_source s WHERE s.conversation_id = ${conversationId})`
