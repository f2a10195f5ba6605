// `npm run bench -- [name…]`: runs the named benchmarks, or all except the long ones. Each benchmark compares our code
// with a limit or an alternative in one run on one machine, and prints ratios. A missed target is only printed; a
// benchmark that throws sets exit code 1.

import { parseArgs } from 'node:util'
import { append } from './append.ts'
import { boot } from './boot.ts'
import { compact } from './compact.ts'
import { context } from './context.ts'
import { facts } from './facts.ts'
import { fanOut } from './fan-out.ts'
import { fastPost } from './fast-post.ts'
import { firstDelta } from './first-delta.ts'
import { formatReport, type Report } from './figures.ts'
import { growth } from './growth/growth.ts'
import { guesses } from './guesses.ts'
import { http } from './http.ts'
import { importTurns } from './import.ts'
import { limits } from './limits/limits.ts'
import { overload } from './overload.ts'
import { partitions } from './partitions.ts'
import { past } from './past.ts'
import { peers } from './peers/peers.ts'
import { processes } from './processes.ts'
import { products } from './products.ts'
import { storage } from './storage.ts'
import { endProcesses } from './process.ts'
import { retention } from './retention.ts'
import { ownerRecall } from './owner.ts'
import { recallLatency } from './recall-latency.ts'
import { dropDatabases, findServices, type Bench } from './services.ts'
import { vectors } from './vectors.ts'
import { web } from './web/web.ts'

const benchmarks: Record<string, (bench: Bench) => Promise<Report | string>> = {
  limits,
  append,
  http,
  'fast-post': fastPost,
  'fan-out': fanOut,
  'first-delta': firstDelta,
  recall: recallLatency,
  owner: ownerRecall,
  facts,
  vectors,
  products: ({ progress }) => products(progress),
  import: importTurns,
  boot,
  compact,
  context,
  guesses,
  past,
  retention,
  overload,
  processes,
  storage,
  partitions,
}

/** Benchmarks that run only if they are named. */
const longBenchmarks: Record<string, (bench: Bench) => Promise<string>> = {
  growth: (bench) => growth(bench, options.large),
  peers: (bench) => peers(bench, options.large),
  web: (bench) => web(bench, { turns: options.turns ? Number(options.turns) : undefined, against: options.against }),
}

const { values: options, positionals: requested } = parseArgs({
  allowPositionals: true,
  options: { large: { type: 'boolean', default: false }, turns: { type: 'string' }, against: { type: 'string' } },
})
const names = [...Object.keys(benchmarks), ...Object.keys(longBenchmarks)]
const unknown = requested.filter((name) => !names.includes(name))
const services = findServices(process.env)
if (unknown.length) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. Available: ${names.join(', ')}.`)
  process.exit(2)
}
if (Array.isArray(services)) {
  console.error(`The benchmarks need a Postgres with pgvector and a Redis. Set ${services.join(', and ')}.`)
  process.exit(2)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endProcesses()
    void dropDatabases().finally(() => process.exit(130))
  })
}

let failed = false
for (const name of requested.length ? requested : Object.keys(benchmarks)) {
  try {
    const bench: Bench = { services, progress: (message) => console.error(`${name}: ${message}`) }
    const long = longBenchmarks[name]
    const report = long ? await long(bench) : await benchmarks[name]!(bench)
    console.log(typeof report === 'string' ? report : formatReport(report))
  } catch (error) {
    failed = true
    console.error(`${name} failed:`, error)
  }
}
process.exit(failed ? 1 : 0)
