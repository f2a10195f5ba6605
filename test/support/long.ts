// Whether this is the long run (`npm run test:long`): full numbers of cases, and tests that take minutes. No other
// module reads LONG.

export const isLong = process.env.LONG === '1'

/** Number of cases of a long property: all of them in the long run, otherwise a tenth. */
export const casesOf = (full: number): number => (isLong ? full : Math.ceil(full / 10))
