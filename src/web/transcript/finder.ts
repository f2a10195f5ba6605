// Finds turns by their ids. The functions are pure, apart from the cache of each finder.

import type { Turn } from '../../client/index.ts'
import { indexAt } from './joined.ts'

/**
 * Creates the function that finds a turn by its id among the newest states of the turns. An edit gives a turn another
 * id and the same position, so it finds a turn also by ids that the turn had before.
 */
export function createFinder(): (turns: readonly Turn[], id: string) => Turn | null {
  const positions = new Map<string, number>()
  let read = ''
  return (turns, id) => {
    // Only turns that were added can be new: a list of thousands is not searched for each reply.
    const extent = `${turns.length} ${turns[0]?.position} ${turns.at(-1)?.position}`
    if (!positions.has(id) && extent !== read) {
      for (const turn of turns) positions.set(turn.id, turn.position)
      read = extent
    }
    const position = positions.get(id)
    const index = position === undefined ? null : indexAt(turns, position)
    return index === null ? null : turns[index]!
  }
}
