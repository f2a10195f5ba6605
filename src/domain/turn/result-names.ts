// Checks that a tool result names the tool of the call that it answers. Models and the AI SDK reject other results.

import { InvalidInput } from '../../errors.ts'
import { readCallNames } from '../../store/sql/turn/read-call-names.ts'
import type { Platform } from '../platform.ts'
import type { Viewer } from '../view.ts'
import type { ContentPart } from './content.ts'

/** A turn to write. `path`: the path of its parts in errors. */
export type GivenTurn = { actor: string; parts: readonly ContentPart[] | null; path: string }

/** Maps call ids to the names of the tools called. */
type CallNames = Map<string, Set<string>>

const add = (names: CallNames, callId: string, name: string) =>
  names.set(callId, (names.get(callId) ?? new Set()).add(name))

function check(names: CallNames, { callId, name }: { callId: string; name: string }, path: string): void {
  const called = names.get(callId)
  if (!called || called.has(name)) return
  throw InvalidInput.at(
    path,
    `has a result of ${JSON.stringify(name)} for the call ${JSON.stringify(callId)}, which calls `
      + [...called].map((each) => JSON.stringify(each)).join(' or '),
  )
}

/**
 * Checks the results in the turns against earlier calls of the same turns, and otherwise against the calls in the
 * conversation that the author sees. Ignores results of unknown calls: writing the turn reports them.
 * @throws InvalidInput
 */
export async function checkResultNames(
  { pool }: Pick<Platform, 'pool'>,
  tenant: Viewer['tenant'],
  conversationId: string,
  turns: readonly GivenTurn[],
): Promise<void> {
  const given: CallNames = new Map()
  const stored = new Map<string, { callId: string; name: string; path: string }[]>()
  for (const { actor, parts, path } of turns) {
    for (const part of parts ?? []) {
      if (part.type === 'toolCall') add(given, part.callId, part.name)
      else if (part.type === 'toolResult' && given.has(part.callId)) check(given, part, path)
      else if (part.type === 'toolResult') stored.set(actor, [...(stored.get(actor) ?? []), { ...part, path }])
    }
  }
  for (const [actor, results] of stored) {
    const ids = [...new Set(results.map(({ callId }) => callId))]
    const names: CallNames = new Map()
    for (const { callId, name } of await readCallNames(pool, { tenant, actor }, conversationId, ids)) {
      add(names, callId, name)
    }
    for (const result of results) check(names, result, result.path)
  }
}

/**
 * Checks the results in parts that complete or replace the turn with the id. Ignores an unknown turn: writing reports it.
 * @throws InvalidInput
 */
export async function checkResultNamesIn(
  deps: Pick<Platform, 'pool' | 'db'>,
  tenant: Viewer['tenant'],
  turnId: string,
  parts: readonly ContentPart[] | null,
  path: string,
): Promise<void> {
  if (!parts?.some(({ type }) => type === 'toolResult')) return
  const turn = await deps.db.turn.findFirst({
    where: { id: turnId, conversation: { tenant } },
    select: { conversationId: true, actor: true },
  })
  if (turn) await checkResultNames(deps, tenant, turn.conversationId, [{ actor: turn.actor, parts, path }])
}
