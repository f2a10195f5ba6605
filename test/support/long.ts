// Whether this is the long run (`npm run test:long`): full numbers of cases, and tests that take minutes. No other
// module reads LONG.

export const isLong = process.env.LONG === '1'

/** How many cases of a long property to run: all of them in the long run, else a tenth. */
export const casesOf = (full: number): number => (isLong ? full : Math.ceil(full / 10))
