// Who may see what, in SQL: the one fragment that every read goes through. The same rule in TypeScript is
// domain/view.ts; test/domain/view.test.ts holds the two equal.

/**
 * A view for each conversation asked for: `v (id, tenant, actor, windows, addressed)`. Conversations of other tenants and unknown conversations
 * have none. `actor` is null for somebody who never was in the conversation.
 *
 * tenant, actor: parameters of the statement, like `$1`. conversations: a condition on `c.id`.
 */
export const views = (tenant: string, actor: string, conversationIds: string) => `
  SELECT c.id, c.tenant, p.actor, coalesce(p.windows, '{1}') AS windows, coalesce(p.addressed, false) AS addressed
  FROM conversation c
  LEFT JOIN participant p ON p.conversation_id = c.id AND p.actor = ${actor}::text
  WHERE c.tenant = ${tenant}::text AND ${conversationIds}`

export type HowMany = 'one' | 'many'

/**
 * The condition on `c.id` that it is among the conversations of a parameter. One conversation has a statement of its own, whose plan
 * Postgres keeps. Of a list it expects ten, so that a kept plan looks dear to it, and it plans each call anew, which
 * takes longer than the call.
 */
export const among = (conversationIds: string, howMany: HowMany) =>
  howMany === 'one' ? `c.id = (${conversationIds}::text[])[1]` : `c.id = ANY (${conversationIds}::text[])`

/** Whether the view `v` has one window, over everything. */
export const whole = (v = 'v') => `(${v}.windows[1] <= 1 AND cardinality(${v}.windows) = 1)`

/** Whether the view `v` contains turn `t`. */
export const visible = (t = 't', v = 'v') => `(
  (${whole(v)} OR width_bucket(${t}.seq, ${v}.windows) % 2 = 1 AND width_bucket(${t}.root_seq, ${v}.windows) % 2 = 1)
  AND (${t}.audience IS NULL OR ${v}.actor = ANY (${t}.audience)))`

/** Whether turn `t`, being visible, is the newest visible version in its place. Versions share their audience. */
export const newest = (t = 't', v = 'v') => `(
  ${t}.superseded_by IS NULL OR NOT EXISTS (
    SELECT FROM turn n WHERE n.conversation_id = ${t}.conversation_id AND n.root_seq = ${t}.root_seq
                         AND n.seq > ${t}.seq AND width_bucket(n.seq, ${v}.windows) % 2 = 1))`

/**
 * Whether the viewer sees fact `f`: where they see its place, as a turn there, or where it is of no conversation, as everybody
 * of the tenant does. tenant, actor: parameters of the statement. By the keys of conversation and participant.
 */
export const factVisible = (f: string, tenant: string, actor: string) => `(
  ${f}.tenant = ${tenant}::text AND (${f}.conversation_id IS NULL OR EXISTS (
    SELECT FROM (${views(tenant, actor, `c.id = ${f}.conversation_id`)}) v WHERE ${visible(f)})))`

/**
 * The same of many facts at once, of the tenant's: `f LEFT JOIN v ON v.id = f.conversation_id`, where `v` holds the
 * views of all their conversations. A conversation is then looked at once, and not for each of its facts.
 */
export const factVisibleIn = (f: string, v: string) => `(
  ${f}.conversation_id IS NULL OR coalesce(${visible(f, v)}, false))`
