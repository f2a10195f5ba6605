// Moments of the database's clock between two writes.

import type { Deps } from '../../src/domain/deps.ts'
import { readTime } from '../../src/store/sql/turn/journal/moments.ts'

/**
 * Waits until the clock shows a time that is later than that of every write so far, and later writes have a later one.
 * Stored times are rounded to milliseconds.
 */
export async function momentAfter({ pool }: Pick<Deps, 'pool'>): Promise<Date> {
  const later = async (than: Date) => {
    for (;;) {
      const time = await readTime(pool, 'any')
      if (time.getTime() > than.getTime() + 1) return time
    }
  }
  const moment = await later(await readTime(pool, 'any'))
  await later(moment)
  return moment
}
