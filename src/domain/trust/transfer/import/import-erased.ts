// Keeps erased data out of an import: what a receipt of this store says was erased does not come back by an older file.
// Content of erased users is removed from the lines before they are written; erased conversations are skipped.

import type { Tx } from '../../../../store/db/db.ts'
import { findErasures } from '../../../../store/sql/trust/transfer/imported-memory.ts'
import { hashOfUser } from '../../erasure/receipt.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { ConversationLine, FactLine, ParticipantLine, StateLine, TurnValues, Values } from '../format.ts'
import type { Numbered, PreparedTurn } from './import-lines.ts'

/** The erasures that concern the lines of a batch. */
export type Erased = {
  isConversation(id: string): boolean
  /** Whether what the user wrote or was at that time was erased. A user who writes again later is not affected. */
  isUser(user: unknown, at: unknown): boolean
}

/** The users that a line is by, or about. */
function usersOf({ line }: Numbered): unknown[] {
  switch (line.type) {
    case 'conversation':
      return [line.owner]
    case 'entry':
      return line.turn ? [line.turn.actor] : []
    case 'attachment':
      return [line.uploadedBy]
    case 'participant':
      return [line.actor]
    case 'sharedState':
      return [...line.writers, ...((line.audience ?? []) as string[])]
    case 'fact':
      return [line.userId, line.assertedBy, ...line.sources.map(({ assertedBy }) => assertedBy)]
    case 'profile':
      return [line.userId]
    default:
      return []
  }
}

/** Reads the erasures that concern the lines. */
export async function findErased(
  { integrityKeys }: Pick<Platform, 'integrityKeys'>,
  db: Tx,
  tenant: string,
  lines: readonly Numbered[],
): Promise<Erased> {
  const users = new Set(lines.flatMap(usersOf).filter((user) => typeof user === 'string'))
  const hashes = new Map([...users].map((user) => [user, hashOfUser(integrityKeys, tenant, user)]))
  const ids = lines.flatMap(({ line }) => (line.type === 'conversation' ? [line.id] : []))
  // An unfinished erasure still has the user's name as its subject.
  const found = await findErasures(db, tenant, [...ids, ...hashes.values(), ...users])
  const conversations = new Set(found.filter(({ kind }) => kind === 'CONVERSATION').map(({ subject }) => subject))
  const erasedAt = new Map<string, number>()
  for (const { kind, subject, createdAt } of found) {
    if (kind === 'USER') erasedAt.set(subject, Math.max(erasedAt.get(subject) ?? 0, createdAt.getTime()))
  }
  return {
    isConversation: (id) => conversations.has(id),
    isUser(user, at) {
      if (typeof user !== 'string') return false
      const time = Math.max(erasedAt.get(user) ?? -Infinity, erasedAt.get(hashes.get(user) ?? '') ?? -Infinity)
      return Date.parse(at as string) <= time
    },
  }
}

const pick = (values: Values, keys: readonly string[]): Values =>
  Object.fromEntries(keys.filter((key) => values[key] !== undefined).map((key) => [key, values[key]]))

/** The properties of a turn that an erasure keeps. */
const KEPT_OF_TURN = [
  'id',
  'position',
  'actor',
  'authorKind',
  'role',
  'audience',
  'promptTokens',
  'completionTokens',
  'model',
  'adapter',
  'pinned',
  'clientId',
  'supersedes',
  'replyToId',
  'createdAt',
  'importedAt',
]

/** Returns the turn without content, as an erasure leaves it. */
export const withoutContent = (turn: TurnValues): PreparedTurn => ({
  ...(pick(turn, KEPT_OF_TURN) as TurnValues),
  status: 'ERASED',
  text: '',
  tokenCount: 0,
})

/** Returns the participant as the erasure of its user leaves it. */
export function withoutDetails(participant: ParticipantLine): ParticipantLine {
  const { displayName: _displayName, agent: _agent, ...rest } = participant
  return { ...rest, metadata: {}, respond: 'NEVER' }
}

/** Whether the erasure of a user has deleted the state: only the user has changed it, or sees it. */
export const isErasedState = ({ writers, audience, updatedAt }: StateLine, erased: Erased): boolean =>
  [writers, audience].some(
    (actors) => Array.isArray(actors) && actors.length === 1 && erased.isUser(actors[0], updatedAt),
  )

/** Returns the conversation as the erasure of its owner leaves it. */
export function withoutTitle(conversation: ConversationLine): ConversationLine {
  const { title: _title, titleFrom: _from, titleSeq: _seq, ...rest } = conversation
  return { ...rest, metadata: {} }
}

/** Returns the fact without what erased users asserted; null if it is about an erased user, or has no source left. */
export function withoutErased(fact: FactLine, erased: Erased): FactLine | null {
  if (erased.isUser(fact.userId, fact.createdAt)) return null
  const sources = fact.sources.filter(({ assertedBy, observedAt }) => !erased.isUser(assertedBy, observedAt))
  return sources.length === 0 ? null : { ...fact, sources }
}
