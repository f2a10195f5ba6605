// The list of turns that wait for an actor's answer, oldest first.

import { z } from 'zod'
import {
  readWakeUps,
  type ClaimedWakeUpRow,
  type WakeUpPosition,
} from '../../../store/sql/agent/wake-up/read-wake-ups.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { name, parse } from '../../kernel/input.ts'
import { paging, slice, type Page } from '../../kernel/page.ts'
import type { Platform } from '../../kernel/platform.ts'
import { actAs, type Viewer } from '../../kernel/view.ts'
import type { Claim } from './claim.ts'
import { scopeOf } from './state.ts'

/** A turn that waits for an actor's answer. */
export type WakeUp = {
  turnId: string
  conversationId: string
  actor: string
  /** Time at which the turn woke up the participant: when it was appended or committed. */
  at: Date
  /** The live claim of this or another participant that prevents the actor from claiming the turn; null for none. */
  claim: Claim | null
}

const cursors = cursorFormat<WakeUpPosition>(
  ({ at, turnId }) => `${at.getTime()} ${turnId}`,
  /^(\d{1,15}) (turn_[0-9A-Z]{26})$/,
  (ms, turnId) => ({ at: new Date(Number(ms)), turnId }),
  'the list of wake-ups',
)

export const wakeUpCursor = (wakeUp: WakeUp): string => cursors.encode(wakeUp)

export type WakeUpsArgs = { as?: string | null; first?: number | null; after?: string | null }

function toWakeUp({ holder, slot, expiresAt, ...wakeUp }: ClaimedWakeUpRow): WakeUp {
  const { turnId, conversationId } = wakeUp
  const claim = holder === null ? null : { turnId, conversationId, actor: holder, scope: scopeOf(slot!), expiresAt }
  return { ...wakeUp, claim }
}

/**
 * Returns a page of the turns that wait for an answer by the viewer, or by `as`, oldest first: turns that woke it up,
 * that it still sees, and that it has neither answered nor dismissed. Omits turns whose wake-up was dropped, for
 * example because the agent's runs failed too often.
 * @throws InvalidInput @throws NotAllowed
 */
export async function getWakeUps(
  { pool, limits }: Pick<Platform, 'pool' | 'limits'>,
  principal: Viewer,
  { as, first, after }: WakeUpsArgs,
): Promise<Page<WakeUp>> {
  authorize(principal, 'getWakeUps', { as })
  const viewer = actAs(principal, parse(z.object({ as: name.nullish() }), { as }).as)
  const page = paging({ first, after }, limits.pageSize)
  const position = page.after === null ? null : cursors.decode(page.after, 'after')
  const rows = await readWakeUps(pool, viewer, position, page.size + 1)
  return slice(rows.map(toWakeUp), page)
}
