// Finds the turn that a context is to answer.

import { InvalidInput, NotFound } from '../../../../errors.ts'
import type { RecallDeps } from '../../recall/deps.ts'
import { getTurns, type Turn } from '../../../turn/turn.ts'
import { trusted } from '../../../kernel/rights/authorize.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { hasContent } from '../perspective.ts'

/**
 * Returns the newest visible version of the turn.
 * @throws NotFound if the viewer does not see the turn, or it is in another conversation
 * @throws InvalidInput if the version is not committed, or has no content
 */
export async function findAnswered(
  deps: RecallDeps,
  viewer: Viewer,
  conversationId: string,
  turnId: string,
): Promise<Turn> {
  const read = async (id: string) => (await getTurns(deps, trusted(viewer), [id])).get(id)
  let turn = await read(turnId)
  if (turn?.conversationId !== conversationId) throw new NotFound('turn', turnId)
  for (let newer = turn.supersededBy; newer !== null; newer = turn.supersededBy) {
    const version = await read(newer)
    if (!version) break
    turn = version
  }
  if (turn.status !== 'COMMITTED') throw InvalidInput.at('answering', `is ${turn.status}: use a committed turn`)
  if (!hasContent(turn)) throw InvalidInput.at('answering', 'is a turn without content')
  return turn
}
