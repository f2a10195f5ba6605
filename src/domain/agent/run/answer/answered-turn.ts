// Which turn a run answers: the one that `replyTo` names, or else the newest one of another author.

import { InvalidInput } from '../../../../errors.ts'
import { trusted } from '../../../kernel/rights/authorize.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { history } from '../../../turn/history.ts'
import { getTurns, type Turn } from '../../../turn/turn.ts'
import type { RunDeps } from '../deps.ts'

/** A turn that a run may answer. */
export type Answered = Pick<Turn, 'id' | 'audience'>

/** Returns the turn. @throws InvalidInput unless both the viewer and the agent see it in the conversation */
export async function requireAnswered(
  deps: RunDeps,
  viewer: Viewer,
  { conversationId, actor, turnId }: { conversationId: string; actor: string; turnId: string },
): Promise<Answered> {
  const seenBy = async (each: Viewer) => {
    const turn = (await getTurns(deps, each, [turnId])).get(turnId)
    if (turn?.conversationId === conversationId) return turn
    throw InvalidInput.at('replyTo', `is ${turnId}; ${each.actor} sees no such turn in the conversation`)
  }
  await seenBy(trusted(viewer))
  return seenBy({ tenant: viewer.tenant, actor })
}

/**
 * Returns the turn that a run without `replyTo` answers: the last turn that another author wrote and the agent sees, of
 * the given turns, or else of the 10 newest; null if there is none. The answer to a private turn is private, too.
 */
export async function newestAnswered(
  deps: RunDeps,
  viewer: Viewer,
  { actor, conversationId, turns }: { actor: string; conversationId: string; turns: readonly Turn[] },
): Promise<Answered | null> {
  const recent = () => history(deps, trusted(viewer), [conversationId], { limit: 10 })
  const candidates = turns.length > 0 ? turns : ((await recent()).get(conversationId) ?? [])
  return (
    candidates.findLast(
      (turn) => turn.actor !== actor && turn.status === 'COMMITTED' && (turn.audience?.includes(actor) ?? true),
    ) ?? null
  )
}
