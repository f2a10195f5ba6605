// `npm run check:faults [-- --seconds 600] [--seed N] [--store embedded|postgres] [--planted [words]]`: loads servers
// of this checkout while it injects faults, and checks the answers to clients against the guarantees. A run on Postgres
// and Redis needs the variable SERVICES, which names a script that starts the two services and sends them signals. The
// run on the embedded database has one process and takes half of the time. Prints the faults, the operations, the rules
// and the violations. Fails on any violation. `--planted` instead plants the bugs whose names contain `words` in the
// embedded database, one after another, and fails unless each is found.

import { parseArgs } from 'node:util'
import { median, table } from '../bench/figures.ts'
import { RULE_NAMES } from './checker.ts'
import { ACTORS } from './clients.ts'
import { PLANTS } from './plants.ts'
import { runFaults, TENANTS, type Report } from './run.ts'
import { AUDIENCE, claimsOf, ISSUER, SECRET, signWithSecret } from '../../test/support/tokens.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string' },
    seed: { type: 'string' },
    store: { type: 'string' },
    planted: { type: 'boolean' },
  },
})
const seconds = Number(options.seconds ?? 600)
const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31))

/** Validity of the clients' tokens, s: longer than a run plus the difference between the servers' clocks. */
const TOKEN_SECONDS = 86_400
/** The only rule that a slow machine can break. */
const RECOVERY = 'clients recover'
const OTHER_RULES = ['SQL counts agree', 'no process ends by itself', RECOVERY]
const isNumber = (column: number) => column > 1

function faultRows({ store, injected }: Report): string[][] {
  const names = [...new Set(injected.map(({ name }) => name))].sort()
  return names.map((name) => {
    const own = injected.filter((each) => each.name === name)
    const times = (of: 'acknowledgedMs' | 'deliveredMs') => own.map((each) => each[of])
    const cells = [median(times('acknowledgedMs')), median(times('deliveredMs')), Math.max(...times('deliveredMs'))]
    return [store, name, String(own.length), ...cells.map((ms) => ms.toFixed(0))]
  })
}

function operationRows({ store, operations }: Report): string[][] {
  return (['append', 'stream'] as const).map((type) => {
    const outcomes = operations.flatMap((operation) => (operation.type === type ? [operation.outcome] : []))
    const count = (of: string) => String(outcomes.filter((outcome) => outcome === of).length)
    return [store, type, count('ok'), count('failed'), count('unknown')]
  })
}

const ruleRows = ({ store, violations }: Report): string[][] =>
  [...RULE_NAMES, ...OTHER_RULES].map((rule) => {
    const broken = violations.filter((violation) => violation.rule === rule)
    return [store, rule, String(broken.length)]
  })

function print(reports: readonly Report[]): void {
  const rows = (of: (report: Report) => string[][]) => reports.flatMap(of)
  const faultHeader = ['store', 'fault', 'times', 'acknowledged, median ms', 'delivered, median ms', 'maximum ms']
  console.log(['', ...table(faultHeader, rows(faultRows), isNumber)].join('\n'))
  const operationHeader = ['store', 'operation', 'acknowledged', 'refused', 'unknown']
  console.log(['', ...table(operationHeader, rows(operationRows), isNumber)].join('\n'))
  console.log(['', ...table(['store', 'rule', 'violations'], rows(ruleRows), isNumber)].join('\n'))
  for (const { store, entries, operations, violations, notes } of reports) {
    const sessions = operations.flatMap((each) => (each.type === 'subscription' ? each.sessions : []))
    const used = sessions.filter(({ events }) => events.length > 0)
    const events = used.reduce((sum, session) => sum + session.events.length, 0)
    const reads = operations.filter(({ type }) => type === 'read').length
    console.log(`\n${store}: ${entries} entries, ${events} events in ${used.length} sessions, ${reads} reads`)
    for (const note of notes) console.log(note)
    for (const { rule, detail } of violations.slice(0, 20)) console.log(`VIOLATION ${rule}: ${detail}`)
  }
}

const tokens = new Map<string, string>()
for (const tenant of TENANTS) {
  for (const actor of ACTORS) {
    const exp = Math.floor(Date.now() / 1000) + TOKEN_SECONDS
    tokens.set(`${tenant} ${actor}`, await signWithSecret(claimsOf(tenant, { sub: actor, exp })))
  }
}

/** The servers authenticate their clients, remove sensitive values, and serve metrics. */
const env = {
  AUTH_MODE: 'jwt',
  JWT_SECRET: SECRET,
  JWT_ISSUER: ISSUER,
  JWT_AUDIENCE: AUDIENCE,
  REDACT: 'turns',
  METRICS_PORT: '0',
}
const credentials = (tenant: string, actor: string) => ({ authorization: `Bearer ${tokens.get(`${tenant} ${actor}`)}` })

/** Duration of the run for each planted bug, s. */
const PLANTED_SECONDS = 5

async function findPlanted(): Promise<boolean> {
  const rows: string[][] = []
  for (const [bug, plant] of Object.entries(PLANTS)) {
    if (!bug.includes(positionals.join(' '))) continue
    const settings = { store: 'embedded', seconds: PLANTED_SECONDS, seed, env, credentials, plant, recoveryMs: 10_000 }
    const { violations } = await runFaults({ ...settings, log: () => {} })
    console.error(bug)
    rows.push([
      bug,
      [...new Set(violations.map(({ rule }) => rule))].filter((rule) => rule !== RECOVERY).join('; ') || 'NOT FOUND',
    ])
  }
  console.log(table(['planted bug', 'found by'], rows, () => false).join('\n'))
  const found = rows.filter(([, rules]) => rules !== 'NOT FOUND').length
  console.log(`\n${found} of ${rows.length} planted bugs found`)
  return found > 0 && found === rows.length
}

/** Runs on each store. Returns true if there was no violation. */
async function run(): Promise<boolean> {
  const reports: Report[] = []
  const runOn = async (store: string, length: number) => {
    const log = (line: string) => console.error(`${store}  ${line}`)
    reports.push(await runFaults({ store, seconds: length, seed, log, env, credentials }))
  }
  if (options.store !== 'embedded') {
    if (process.env.SERVICES) await runOn('postgres', seconds)
    else console.error('Not run on Postgres and Redis: set SERVICES to a script that starts and signals them.')
  }
  if (options.store !== 'postgres') await runOn('embedded', options.store ? seconds : seconds / 2)
  print(reports)
  return reports.length > 0 && reports.every(({ violations }) => violations.length === 0)
}

// The exit of this process also ends the servers.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))
console.log(`seed ${seed}, ${options.planted ? PLANTED_SECONDS : seconds} s`)
process.exit((await (options.planted ? findPlanted() : run())) ? 0 : 1)
