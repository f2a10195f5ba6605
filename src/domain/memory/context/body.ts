// The stored form of the messages of a context: JSON text, which keeps every byte of a rendering, unlike jsonb. Pure.

import { derivedKey } from '../../kernel/derived-id.ts'
import { contentOf, type Context, type ContextMessage } from './message.ts'

type Body = Omit<ContextMessage, 'content'>

/** Returns the JSON text of the message. `content` is computed from the parts. */
export function bodyOf({ content: _, ...body }: ContextMessage): string {
  return JSON.stringify(body satisfies Body)
}

function messageOf({ tokenCount, ...body }: Body): ContextMessage {
  return { ...body, content: contentOf(body.parts), tokenCount }
}

/** Returns the messages of a JSON array of bodies, with null for the messages that are left out. */
export const messagesOf = (bodies: string): (ContextMessage | null)[] =>
  (JSON.parse(bodies) as (Body | null)[]).map((body) => body && messageOf(body))

/**
 * Returns the messages that are not null, and the ids of the lost sources. The id of a profile is that of its user.
 * @param lost ids of sources, in the order of their messages; those of profiles are derived ids
 */
export function withoutLost(
  messages: readonly (ContextMessage | null)[],
  lost: readonly string[],
): Pick<Context, 'messages' | 'goneSourceIds'> {
  const nameOf = (id: string) => {
    const key = derivedKey(id)
    return key?.kind === 'profile' ? key.userId : id
  }
  return { messages: messages.filter((message) => message !== null), goneSourceIds: [...new Set(lost.map(nameOf))] }
}
