// Whether this is the long run (`npm run test:long`), with all cases of each property and with tests that take minutes.
// No other module reads LONG.

export const isLong = process.env.LONG === '1'

/** Number of cases of a property test: `full` in the long run, otherwise a tenth of it, rounded up. */
export const casesOf = (full: number): number => (isLong ? full : Math.ceil(full / 10))
