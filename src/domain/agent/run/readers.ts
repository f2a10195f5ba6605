// Keeps private turns and facts out of a run's messages: the agent may see turns that the readers of its answer do not
// see, and a model may quote any of its input. So a message is left out unless all readers may see its sources.
// Shared state is left out when the context is built, key by key.

import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import type { Context, ContextMessage } from '../../memory/context/message.ts'
import { kindOf } from '../../kernel/id.ts'
import type { Platform } from '../../kernel/platform.ts'
import { admitsAll } from '../../kernel/view.ts'

/** Returns the ids of the source turns and facts that at least one reader may not see. */
async function hiddenFrom(
  { db }: Pick<Platform, 'db'>,
  { tenant, audience: readers }: RunRow,
  messages: readonly ContextMessage[],
): Promise<Set<string>> {
  const ids = messages.flatMap(({ sourceIds }) => sourceIds)
  const ofKind = (kind: 'turn' | 'fact') => ids.filter((id) => kindOf(id) === kind)
  const where = (kind: 'turn' | 'fact') => ({ id: { in: ofKind(kind) }, audience: { isEmpty: false } })
  const select = { id: true, audience: true }
  const turns = await db.of(tenant).turn.findMany({ where: where('turn'), select })
  const facts = ofKind('fact').length === 0 ? [] : await db.of(tenant).fact.findMany({ where: where('fact'), select })
  return new Set([...turns, ...facts].filter(({ audience }) => !admitsAll(audience, readers)).map(({ id }) => id))
}

/**
 * Returns the actors who may see the answer; null for every participant. A newer version of a reply has the audience of the
 * older one, with actors who have left and may come back.
 */
export async function readersOf(
  { db }: Pick<Platform, 'db'>,
  { tenant, conversationId, audience, supersedesId }: RunRow,
): Promise<string[] | null> {
  if (supersedesId === null) return audience
  const older = await db
    .of(tenant)
    .turn.findFirst({ where: { id: supersedesId, conversationId }, select: { audience: true } })
  return audience && [...new Set([...audience, ...(older?.audience ?? [])])]
}

/** Removes the messages that have a source hidden from a reader of the run's answer. Returns the remaining context. */
export async function withoutPrivate(deps: Pick<Platform, 'db'>, run: RunRow, context: Context): Promise<Context> {
  const hidden = await hiddenFrom(deps, run, context.messages)
  if (hidden.size === 0) return context
  const messages = context.messages.filter(({ sourceIds }) => !sourceIds.some((id) => hidden.has(id)))
  const tokenCount = messages.reduce((sum, message) => sum + message.tokenCount, 0)
  return { ...context, messages, tokenCount }
}
