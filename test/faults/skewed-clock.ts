// Preloaded into a server process: shifts its clock by CLOCK_OFFSET_MS, as NTP or an operator may. Covers `Date.now`,
// `new Date()` and `Date()` in every thread. Timers and performance.now() are monotonic and stay; so does the clock of
// Postgres. SIGUSR2 jumps to the opposite offset.

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
