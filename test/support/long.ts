// Whether this is the long run (`npm run test:long`): full numbers of cases, and tests that take minutes.

export const isLong = process.env.LONG === '1'
