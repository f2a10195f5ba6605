// Decides whether a credential permits the data that a context takes from outside its conversation: turns that recall
// finds in other conversations, facts, and profiles. buildContext and runTurn call it, so both give the same answers,
// and the answers that recall gives for its scopes.

import { requirePermits } from '../../kernel/rights/authorize.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Condition } from '../../kernel/rights/rights.ts'
import { beyondConversations, lacksRight } from '../../kernel/rights/rights-text.ts'
import type { Viewer } from '../../kernel/view.ts'

/** The options of a context that need rights: those that add data from outside its conversation, and `store`. */
export type Sources = {
  semanticRecall?: { scope?: 'CONVERSATION' | 'OWNER' | 'TENANT' | null | undefined } | null | undefined
  includeFacts?: boolean | null | undefined
  includeProfile?: boolean | null | undefined
  store?: boolean | null | undefined
}

/** Whether the recall of the context searches more than the context's conversation. */
export const isWideRecall = ({ semanticRecall }: Sources): boolean =>
  (semanticRecall?.scope ?? 'CONVERSATION') !== 'CONVERSATION'

/** Whether the context may contain data from outside its conversation. */
export const readsOutside = (sources: Sources): boolean =>
  Boolean(sources.includeFacts || sources.includeProfile) || isWideRecall(sources)

/**
 * Checks that the viewer's credential permits the data that the context takes from outside its conversation.
 * @throws NotAllowed without the right `read`, without the right that a scope or `store` needs, or if the credential is
 * limited to some conversations, for sources other than facts, which are filtered
 */
export async function requireSources(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  verb: 'buildContext' | 'runTurn',
  { conversationId, ...sources }: Sources & { conversationId: string },
): Promise<void> {
  const { principal } = viewer
  if (principal !== undefined && readsOutside(sources)) {
    if (!principal.rights.has('read')) throw lacksRight('read', verb)
    if (principal.conversations && (isWideRecall(sources) || sources.includeProfile)) throw beyondConversations(verb)
  }
  const conditions: Condition[] = sources.semanticRecall?.scope === 'TENANT' ? ['tenantScope'] : []
  if (sources.store) conditions.push('stored')
  await requirePermits(db.of(viewer.tenant), viewer, verb, { conversationId, conditions })
}
