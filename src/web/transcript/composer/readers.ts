// The audience of a message that a person writes. The functions are pure.

import type { Turn } from '../../../client/index.ts'

/**
 * Returns the audience of a reply to a turn, besides its author: those who see the turn, or only the author if nobody
 * else sees it. Null for a turn that everybody sees.
 */
export function audienceOfReply({ audience, actor }: Pick<Turn, 'audience' | 'actor'>, author: string) {
  if (!audience) return null
  const others = [...new Set([...audience, actor])].filter((each) => each !== author)
  return others.length > 0 ? others : [author]
}

/** Returns the audience with an actor added or removed. A message is for other readers, or for its author only. */
export function toggled(audience: readonly string[], actor: string, author: string): readonly string[] {
  if (audience.includes(actor)) return audience.filter((each) => each !== actor)
  return actor === author ? [author] : [...audience.filter((each) => each !== author), actor]
}
