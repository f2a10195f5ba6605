// Stores a message in a turn so that it is read as it was written: its id and time are in the turn's metadata, and
// blank content is in a data part. Used by the conversation stores of documents 002 and 003. Pure.

import { codeOf, ConversationNotFound, IdConflict } from './errors.ts'
import type { GivenPart, StoredTurn } from './transcript.ts'

/** Key in the turn's metadata for the id and the time of the message. */
const KEY = 'storedMessage'

/** Returns the metadata of the turn of a message. */
export const metadataOf = (
  { id, createdAt }: { id: string; createdAt: Date },
  metadata: Record<string, unknown> | undefined,
): Record<string, unknown> => ({ ...metadata, [KEY]: { id, createdAt: createdAt.toISOString() } })

export type MessageHead = {
  id: string
  createdAt: Date
  /** The metadata of the message; undefined if it has none. */
  metadata: Record<string, unknown> | undefined
}

/** Returns the id, time and metadata of the message of a turn; for a turn that no store wrote, those of the turn. */
export function headOf(turn: StoredTurn): MessageHead {
  const { [KEY]: given, ...metadata } = turn.metadata
  const { id, createdAt } = (given ?? {}) as { id?: string; createdAt?: string }
  return {
    id: id ?? turn.id,
    createdAt: createdAt === undefined ? turn.createdAt : new Date(createdAt),
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
  }
}

/** Returns a data part with the content of a message whose texts are all blank, because a turn must not be blank. */
export const blankPart = (texts: readonly string[]): GivenPart => ({ data: { type: 'blank', texts } })

/** Returns the texts of a part that blankPart created; null for any other data. */
export function textsOfBlank(data: unknown): string[] | null {
  const { type, texts } = (data ?? {}) as { type?: unknown; texts?: unknown }
  return type === 'blank' && Array.isArray(texts) ? (texts as string[]) : null
}

/**
 * Runs `write`, and converts its errors to those of the conversation stores.
 * @throws ConversationNotFound @throws IdConflict, or the server's error
 */
export async function writing(
  conversationId: string,
  ids: { messages: readonly string[]; turn?: string },
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write()
  } catch (error) {
    const code = codeOf(error)
    if (code === 'NOT_FOUND') throw new ConversationNotFound(conversationId)
    if (code !== 'CONFLICT') throw error
    // The message of the server starts with the first clientId that conflicts.
    const named = /^clientId ("(?:[^"\\]|\\.)*")/.exec((error as Error).message)?.[1]
    const id = named === undefined ? ids.messages[0] : (JSON.parse(named) as string)
    throw new IdConflict(id === ids.turn ? 'turn' : 'message', id ?? '')
  }
}
