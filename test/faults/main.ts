// `npm run check:faults [-- --seconds 600] [--seed N] [--store embedded|postgres]`: loads servers of this checkout while
// it injects faults, and checks what clients were told against the guarantees. On Postgres and Redis it needs the
// variable SERVICES, which names a script that starts a pair of them and sends them signals; the embedded database
// serves one process and gets half of the time. Prints the faults, the operations, the rules and the violations. Fails
// on any violation.

import { parseArgs } from 'node:util'
import { median, table } from '../bench/figures.ts'
import { RULE_NAMES } from './checker.ts'
import { runFaults, type Report } from './run.ts'

const { values: options } = parseArgs({
  options: { seconds: { type: 'string' }, seed: { type: 'string' }, store: { type: 'string' } },
})
const seconds = Number(options.seconds ?? 600)
const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31))

const OTHER_RULES = ['SQL counts agree', 'no process ends by itself', 'clients recover']
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
  const faultHeader = ['store', 'fault', 'times', 'acknowledged, median ms', 'delivered, median ms', 'worst ms']
  console.log(['', ...table(faultHeader, rows(faultRows), isNumber)].join('\n'))
  const operationHeader = ['store', 'operation', 'acknowledged', 'refused', 'unknown']
  console.log(['', ...table(operationHeader, rows(operationRows), isNumber)].join('\n'))
  console.log(['', ...table(['store', 'rule', 'violations'], rows(ruleRows), isNumber)].join('\n'))
  for (const { store, entries, operations, violations, notes } of reports) {
    const seen = operations.flatMap((each) => (each.type === 'subscription' ? each.sessions : []))
    const events = seen.reduce((sum, session) => sum + session.events.length, 0)
    const reads = operations.filter(({ type }) => type === 'read').length
    console.log(`\n${store}: ${entries} entries, ${events} events in ${seen.length} sessions, ${reads} reads`)
    for (const note of notes) console.log(note)
    for (const { rule, detail } of violations.slice(0, 20)) console.log(`VIOLATION ${rule}: ${detail}`)
  }
}

/** Without authentication, headers name the tenant and the actor. */
const credentials = (tenant: string, actor: string) => ({ 'x-tenant': tenant, 'x-actor': actor })

console.log(`seed ${seed}, ${seconds} s`)
const reports: Report[] = []
const runOn = async (store: string, length: number) => {
  reports.push(await runFaults(store, length, seed, (line) => console.error(`${store}  ${line}`), { credentials }))
}
if (options.store !== 'embedded') {
  if (process.env.SERVICES) await runOn('postgres', seconds)
  else console.error('Not run on Postgres and Redis: set SERVICES to a script that starts and signals them.')
}
if (options.store !== 'postgres') await runOn('embedded', options.store ? seconds : seconds / 2)
print(reports)
process.exit(reports.length > 0 && reports.every(({ violations }) => violations.length === 0) ? 0 : 1)
