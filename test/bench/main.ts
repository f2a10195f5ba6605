// `npm run bench -- [name…]`: runs all benchmarks, or the named ones. Each compares our code with a limit or an
// alternative in one run on one machine, and prints ratios. A missed target is only printed; a benchmark that throws
// sets exit code 1.

import { append } from './append.ts'
import { compact } from './compact.ts'
import { context } from './context.ts'
import { fanOut } from './fan-out.ts'
import { fastPost, plans } from './fast-paths.ts'
import { firstDelta } from './first-delta.ts'
import { formatReport, type Report } from './figures.ts'
import { http } from './http.ts'
import { endProcesses } from './process.ts'
import { retention } from './retention.ts'
import { recallLatency } from './recall-latency.ts'
import { dropDatabases, findServices, type Bench } from './services.ts'
import { vectors } from './vectors.ts'

const benchmarks: Record<string, (bench: Bench) => Promise<Report>> = {
  append,
  http,
  plans,
  'fast-post': fastPost,
  'fan-out': fanOut,
  'first-delta': firstDelta,
  recall: recallLatency,
  vectors,
  compact,
  context,
  retention,
}

const requested = process.argv.slice(2)
const unknown = requested.filter((name) => !Object.hasOwn(benchmarks, name))
const services = findServices(process.env)
if (unknown.length) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. Available: ${Object.keys(benchmarks).join(', ')}.`)
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
    const report = await benchmarks[name]!({ services, progress: (message) => console.error(`${name}: ${message}`) })
    console.log(formatReport(report))
  } catch (error) {
    failed = true
    console.error(`${name} failed:`, error)
  }
}
process.exit(failed ? 1 : 0)
