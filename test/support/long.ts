// The extent of a run of the tests. LONG=1 (`npm run test:long`, the long run) adds more cases of each property, and
// tests that take minutes. LONG=2 (`npm run check:trust`, the exhaustive run, with only some files) adds every case of
// the checks that are generated from the schema or from a table. vitest.config.ts also reads LONG, for its time limits.

const { LONG } = process.env

/** Whether LONG is 2. */
export const isExhaustive = LONG === '2'
/** Whether LONG is 1 or 2. */
export const isLong = LONG === '1' || isExhaustive

/** Number of cases of a property test: `full` if `isExhaustive`, half of it if `isLong`, otherwise a fortieth. */
export const casesOf = (full: number): number => Math.ceil(isExhaustive ? full : isLong ? full / 2 : full / 40)
