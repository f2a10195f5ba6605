// The reasons why a streaming turn accepts no call, and their errors. A call for a turn outside the viewer's view fails with
// NotFound, so a refusal does not reveal that the turn exists.

import { NotAllowed, NotFound, StreamClosed, type DomainError } from '../../../errors.ts'
import type { TurnStatus } from '../../../store/generated/enums.ts'
import { trusted } from '../../kernel/rights/authorize.ts'
import type { Viewer } from '../../kernel/view.ts'
import { getTurns } from '../turn.ts'
import type { StreamDeps } from './delta-queue.ts'

const REFUSALS = ['closed', 'other_writer', 'left', 'missing'] as const
export type Refusal = (typeof REFUSALS)[number]

export const isRefusal = (outcome: string): outcome is Refusal => (REFUSALS as readonly string[]).includes(outcome)

/** Returns the error for a refused call. A turn that the viewer does not see looks like an unknown turn. */
export async function refusalOf(
  deps: StreamDeps,
  viewer: Viewer,
  turnId: string,
  { outcome: refusal, status }: { outcome: Refusal; status: TurnStatus | null },
): Promise<DomainError> {
  const isSeen = refusal !== 'missing' && (await getTurns(deps, trusted(viewer), [turnId])).has(turnId)
  if (!isSeen) return new NotFound('turn', turnId)
  if (refusal === 'closed') return new StreamClosed(turnId, status!)
  return new NotAllowed(
    refusal === 'left'
      ? `The author of turn ${turnId} has left the conversation. Add the participant again first.`
      : `Turn ${turnId} has another writer. Send the writerToken with which it was opened.`,
  )
}
