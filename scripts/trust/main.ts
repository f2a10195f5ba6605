// `npm run check:trust [-- words] [--short] [--store embedded|postgres]`: checks the statements of docs/security.md and
// prints a table. Runs on the embedded database and, with TEST_DATABASE_URL and TEST_REDIS_URL, on Postgres and Redis.
// `words` selects the sections whose names contain the words; `--short` runs a tenth of each measurement. Fails if a
// row is not ok, or a section cannot run.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { table } from '../bench/figures.ts'
import { isolationCosts } from './isolation-costs.ts'
import { metricsCosts } from './metrics-costs.ts'
import { findServices, withDatabase } from '../bench/services.ts'
import { audits, scans } from './audits.ts'
import { refusals } from './refusals.ts'
import type { Row, Section, Store } from './section.ts'
import { subscribers } from './subscribers.ts'
import { testSection } from './tests.ts'

/** The sections of the table. A `testSection` runs tests; the other sections run their own checks. */
const SECTIONS: readonly Section[] = [
  testSection('access matrix', ['test/system/access-matrix.test.ts', 'test/backend/store/db/isolation.test.ts']),
  audits,
  scans,
  testSection('rights, cell by cell', ['test/backend/domain/kernel/rights/rights.test.ts']),
  refusals,
  testSection('canaries', ['test/system/canary.test.ts', 'test/system/erasure-canary.test.ts']),
  testSection('checker of histories', ['test/unit/scripts/faults/checker.test.ts']),
  subscribers,
  isolationCosts,
  metricsCosts,
]

const { values: options, positionals } = parseArgs({
  options: { short: { type: 'boolean' }, store: { type: 'string' } },
  allowPositionals: true,
})

const log = (line: string) => console.error(line)

/** Runs a section. A section that cannot run has a single row, which is not ok and contains the error. */
async function rowsOf(section: Section, stores: readonly Store[]): Promise<Row[]> {
  log(section.name)
  try {
    return await section.run({ stores, share: options.short ? 0.1 : 1, log: (line) => log(`  ${line}`) })
  } catch (error) {
    return [{ name: '', value: `not run: ${(error as Error).message.slice(0, 200)}`, gate: 'runs', ok: false }]
  }
}

async function checkAll(stores: readonly Store[]): Promise<boolean> {
  const chosen = SECTIONS.filter(({ name }) => name.includes(positionals.join(' ')))
  const rows: string[][] = []
  let failed = 0
  for (const section of chosen) {
    for (const { name, value, gate, ok } of await rowsOf(section, stores)) {
      rows.push([section.name, name, value, gate, ok ? 'ok' : 'NOT OK'])
      if (!ok) failed += 1
    }
  }
  console.log(table(['section', 'what', 'value', 'gate', ''], rows, () => false).join('\n'))
  console.log(`\n${rows.length - failed} of ${rows.length} ok`)
  return rows.length > 0 && failed === 0
}

const directory = mkdtempSync(join(tmpdir(), 'colloquy-trust-'))
let started = 0
const embedded: Store = {
  name: 'embedded',
  env: async () => ({ DATA_DIR: join(directory, String(++started)), DATABASE_URL: '', REDIS_URL: '' }),
}
const services = findServices(process.env)
let ok: boolean
if (options.store === 'embedded') ok = await checkAll([embedded])
else if (Array.isArray(services)) {
  log(`Not run on Postgres and Redis: set ${services.join(', and ')}.`)
  ok = await checkAll([embedded])
} else {
  ok = await withDatabase(services.databaseUrl, (url) => {
    const postgres: Store = { name: 'postgres', env: async () => ({ DATABASE_URL: url, REDIS_URL: services.redisUrl }) }
    return checkAll(options.store === 'postgres' ? [postgres] : [embedded, postgres])
  })
}
rmSync(directory, { recursive: true, force: true })
process.exit(ok ? 0 : 1)
