// `npm run check:attacks [-- words] [--short] [--store embedded|postgres] [--operations NAME] [--seed N]`: attacks
// servers of this checkout, on the embedded database and, with TEST_DATABASE_URL and TEST_REDIS_URL, on Postgres and
// Redis. Prints one line per attack. `words` selects the attacks whose section and name contain them. Fails if a server
// exits, does not resist an attack, answers with a status of 500 or more (except 503), or uses more memory than
// allowed. `--short` sends a twentieth of the random requests, and writes a twentieth of the largest data.
// `--operations` selects the operations whose stalls are measured. `--seed` repeats the random requests of an earlier
// run.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { table } from '../bench/figures.ts'
import { findServices, withDatabase } from '../bench/services.ts'
import { ALLOWED_MB, sleep, type Attack } from './attack.ts'
import { edgeAttacks } from './edges.ts'
import { fuzz } from './fuzz.ts'
import { leaseAttack } from './leases.ts'
import { operationAttacks } from './operations.ts'
import { stallAttack } from './stalls.ts'
import { startTarget, type Target } from './target.ts'
import { transportAttacks } from './transports.ts'
import { compareTwins } from './twins.ts'
import { unreadAnswerAttacks } from './unread-answers.ts'
import { uploadAttacks } from './uploads.ts'

const { values: options, positionals } = parseArgs({
  options: {
    short: { type: 'boolean' },
    store: { type: 'string' },
    operations: { type: 'string' },
    seed: { type: 'string' },
  },
  allowPositionals: true,
})
const SHARE = options.short ? 0.05 : 1
const FUZZ_REQUESTS = 15_000 * SHARE
const TWIN_PAIRS = 2_000 * SHARE

const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31))

const attacks: Attack[] = [
  ...operationAttacks,
  ...transportAttacks,
  ...unreadAnswerAttacks,
  ...uploadAttacks,
  ...edgeAttacks,
  leaseAttack,
  stallAttack(SHARE, options.operations ?? ''),
  {
    section: 'canary',
    name: `${TWIN_PAIRS} questions in twin worlds`,
    run: (target) => compareTwins(target, TWIN_PAIRS, seed),
  },
  { section: 'fuzz', name: `${FUZZ_REQUESTS} random operations`, run: (target) => fuzz(target, FUZZ_REQUESTS, seed) },
]

/** Runs one attack on a server of its own. Returns a row of the table, and whether the server resisted. */
async function attack(
  store: string,
  env: Record<string, string>,
  { section, name, env: settings, prepare, run }: Attack,
) {
  const prepared = await prepare?.()
  const target: Target = await startTarget({ ...env, ...settings, ...prepared?.env })
  try {
    await sleep(1_000)
    await target.peakMemory()
    target.idleMB = await target.memory()
    const outcome = await run(target).catch((error: Error) => `FAILED: ${error.message.slice(0, 20_000)}`)
    const isAlive = await target.isAlive()
    const megabytes = isAlive ? (await target.peakMemory()) - target.idleMB : NaN
    const faults = [
      ...(isAlive ? [] : ['the process ended']),
      ...(target.serverErrors > 0 ? [`${target.serverErrors} server errors`] : []),
      ...(megabytes > ALLOWED_MB ? [`more than ${ALLOWED_MB} MB`] : []),
      ...(outcome.startsWith('FAILED') ? ['see outcome'] : []),
    ]
    const row = [
      store,
      section,
      name,
      Number.isNaN(megabytes) ? '' : megabytes.toFixed(0),
      faults.join(', ') || 'ok',
      outcome,
    ]
    return { row, resisted: faults.length === 0 }
  } finally {
    await target.stop()
    await prepared?.close()
  }
}

async function attackAll(store: string, env: () => Promise<Record<string, string>>, words: string) {
  const results = []
  for (const each of attacks.filter(({ section, name }) => `${section} ${name}`.includes(words))) {
    const result = await attack(store, await env(), each)
    console.error(result.row.join('  '))
    results.push(result)
  }
  return results
}

const words = positionals.join(' ')
const services = findServices(process.env)
const directory = mkdtempSync(join(tmpdir(), 'colloquy-attacks-'))
let started = 0
const results: Awaited<ReturnType<typeof attack>>[] = []
if (options.store !== 'postgres') {
  const env = async () => ({ DATA_DIR: join(directory, String(++started)), DATABASE_URL: '', REDIS_URL: '' })
  results.push(...(await attackAll('embedded', env, words)))
}
if (options.store === 'embedded') console.error('Not run on Postgres and Redis.')
else if (Array.isArray(services)) console.error(`Not run on Postgres and Redis: set ${services.join(', and ')}.`)
else {
  const { databaseUrl, redisUrl } = services
  results.push(
    ...(await withDatabase(databaseUrl, (url) =>
      attackAll('postgres', async () => ({ DATABASE_URL: url, REDIS_URL: redisUrl }), words),
    )),
  )
}
rmSync(directory, { recursive: true, force: true })
const header = ['store', 'section', 'attack', 'MB', 'result', 'outcome']
console.log(
  table(
    header,
    results.map(({ row }) => row),
    (column) => column === 3,
  ).join('\n'),
)
process.exit(results.every(({ resisted }) => resisted) ? 0 : 1)
