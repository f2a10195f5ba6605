// Compares stored values, removes repeated messages, and sorts messages by time. Pure.

import { IdConflict } from './errors.ts'

/** Returns JSON with sorted keys and without undefined fields. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? 'null'

/** Whether two values have the same JSON. */
export const isSame = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other)

/** Returns the messages without repetitions. @throws IdConflict if two with the same id have different content */
export function withoutRepetitions<Message extends { id: string }>(messages: readonly Message[]): Message[] {
  const byId = new Map<string, Message>()
  for (const message of messages) {
    const earlier = byId.get(message.id)
    if (!earlier) byId.set(message.id, message)
    else if (!isSame(earlier, message)) throw new IdConflict('message', message.id)
  }
  return [...byId.values()]
}

/** Returns the messages in ascending time order; messages with the same time keep the given order. */
export const inTimeOrder = <Message>(messages: readonly Message[], timeOf: (message: Message) => Date): Message[] =>
  messages.toSorted((a, b) => timeOf(a).getTime() - timeOf(b).getTime())
