// Preloaded into a server process: shifts its clock by CLOCK_OFFSET_MS (by default 0), as NTP or an operator may do.
// Covers `Date.now`, `new Date()` and `Date()` in the main thread. Does not cover worker threads, which do not load
// this module, the clock of Postgres, or timers and performance.now(), which are monotonic. SIGUSR2 negates the offset,
// and changes an offset of 0 to 5 minutes.

const Real = Date
let offset = Number(process.env.CLOCK_OFFSET_MS ?? 0)
process.on('SIGUSR2', () => {
  offset = offset === 0 ? 300_000 : -offset
})

const now = () => Real.now() + offset
globalThis.Date = new Proxy(Real, {
  apply: () => new Real(now()).toString(),
  construct: (_, args: [], target) => Reflect.construct(Real, args.length > 0 ? args : [now()], target) as Date,
  get: (_, name, receiver) => (name === 'now' ? now : (Reflect.get(Real, name, receiver) as unknown)),
})
