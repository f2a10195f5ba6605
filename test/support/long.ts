// How much a run of the tests covers. LONG=1 (`npm run test:long`) adds more cases of each property and tests that take
// minutes; LONG=2 (`npm run check:trust`, with only some files) adds every case of the checks that are generated from
// the schema or from a table. No other module reads LONG.

const { LONG } = process.env

/** Whether this is the exhaustive run. */
export const isExhaustive = LONG === '2'
/** Whether this is the long run or the exhaustive one. */
export const isLong = LONG === '1' || isExhaustive

/** Number of cases of a property test: `full` in the long run, otherwise a tenth of it, rounded up. */
export const casesOf = (full: number): number => (isLong ? full : Math.ceil(full / 10))
