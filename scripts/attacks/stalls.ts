// Checks that no operation blocks the event loop: sends every operation at its documented maximum, while the server
// measures the stalls of its event loop, and a participant of another tenant, the neighbour, appends turns. The
// neighbour's median append time beside the operation is compared with its median alone, measured just before. An
// operation that exceeds a limit runs again, so that other load on the machine does not fail the check. The neighbour
// and the attacking clients are separate processes, so that neither measures the delays of the other.

import { median, table } from '../bench/figures.ts'
import { startWorker, type Worker } from '../bench/process.ts'
import { ALLOWED_MB, check, newConversation, sleep, errorOf, type Attack } from './attack.ts'
import { maximumMutations, maximumQueries, prepareMaximums, type Maximum } from './maximums.ts'
import type { LoadQuestion, LoadReply } from './load.ts'
import type { NeighbourQuestion } from '../attacks/neighbour.ts'
import type { WorkerPost } from './post.ts'
import type { Target } from './target.ts'

/** Maximum length of a stall of the event loop that an operation may cause, ms. */
const ALLOWED_STALL_MS = 100
/** Maximum number of runs of an operation. Another run follows only if all runs exceeded the limit. */
const RUNS = 3
/** Maximum ratio of the neighbour's median append time beside other requests to its median append time alone. */
const ALLOWED_RATIO = 2
/** Number of requests that run at the same time beside the neighbour. */
const CONCURRENT = 10
/** Number of appends of the neighbour alone, for one median. */
const APPENDS = 40
/** The viewer whose requests run beside the neighbour. */
const ATTACKER = { tenant: 'attacked', actor: 'mallory' }
/** Time for which queries are repeated beside the neighbour, ms. */
const BESIDE_MS = 2_000

/** The processes of a check: the neighbour, and the clients that send requests beside it. */
type Workers = { neighbour: Worker<NeighbourQuestion, number[]>; load: Worker<LoadQuestion, LoadReply> }

async function startWorkers({ port }: Target): Promise<Workers> {
  const neighbour = startWorker<NeighbourQuestion, number[]>('../attacks/neighbour.ts')
  await neighbour.ask({ kind: 'create', port })
  return { neighbour, load: startWorker<LoadQuestion, LoadReply>('../attacks/load.ts') }
}

type Row = {
  name: string
  answer: string
  ms: number
  stall: number
  alone: number
  beside: number
  megabytes: number
  faults: string[]
}

async function measureStall(target: Target, { next, options }: Maximum) {
  let stall = Infinity
  let answer = ''
  let ms = 0
  for (let run = 0; run < RUNS && stall > ALLOWED_STALL_MS; run++) {
    const body = await next()
    await target.longestStall()
    const startedAt = performance.now()
    const reply = await target.send(body, options)
    ms = performance.now() - startedAt
    const stalled = await target.longestStall()
    stall = Math.min(stall, stalled)
    answer = errorOf(reply.body.slice(0, 2_000)) ?? /"message":"([^"]*)"/.exec(reply.body.slice(0, 2_000))?.[1] ?? 'ok'
    if (answer.startsWith('not JSON')) answer = 'ok'
  }
  return { stall, answer, ms }
}

/**
 * Returns the neighbour's median append time alone, and beside CONCURRENT requests of the operation. Measures again if
 * the ratio exceeds the limit.
 */
async function measureNeighbour(target: Target, { neighbour, load }: Workers, maximum: Maximum) {
  const { next, options, isQuery, isOnce } = maximum
  let best = { alone: 1, beside: Infinity }
  for (let run = 0; run < (isOnce ? 1 : RUNS) && best.beside > ALLOWED_RATIO * best.alone; run++) {
    const posts: WorkerPost[] = []
    for (let n = 0; n < CONCURRENT; n++) posts.push({ ...ATTACKER, ...options, body: await next() })
    const alone = median(await neighbour.ask({ kind: 'append', count: APPENDS }))
    await neighbour.ask({ kind: 'start' })
    const { serverErrors } = await load.ask({ port: target.port, posts, repeatMs: isQuery ? BESIDE_MS : 0 })
    target.serverErrors += serverErrors
    const beside = median(await neighbour.ask({ kind: 'stop' }))
    if (beside / alone < best.beside / best.alone) best = { alone, beside }
  }
  return best
}

async function measure(target: Target, workers: Workers, maximum: Maximum): Promise<Row> {
  const stalled = await measureStall(target, maximum)
  const appended = await measureNeighbour(target, workers, maximum)
  const megabytes = (await target.peakMemory()) - target.idleMB
  const faults = [
    ...(stalled.stall > ALLOWED_STALL_MS ? ['stall'] : []),
    ...(target.isPostgres && appended.beside > ALLOWED_RATIO * appended.alone ? ['neighbour'] : []),
    ...(megabytes > ALLOWED_MB ? ['memory'] : []),
  ]
  return { name: maximum.name, ...stalled, ...appended, megabytes, faults }
}

const HEADER = [
  'operation',
  'answer',
  'ms',
  'stall, ms',
  'append alone',
  `beside ${CONCURRENT}`,
  'ratio',
  'MB',
  'result',
]
const toCells = ({ name, answer, ms, stall, alone, beside, megabytes, faults }: Row): string[] => [
  name,
  answer.slice(0, 40),
  ms.toFixed(0),
  stall.toFixed(0),
  alone.toFixed(1),
  beside.toFixed(1),
  (beside / alone).toFixed(2),
  megabytes.toFixed(0),
  faults.join(', ') || 'ok',
]

/**
 * @param share fraction of the largest data to write; 1 for the documented maximums
 * @param operations selects the operations whose name contains this text, or one of several texts, separated by "|"
 */
export const stallAttack = (share: number, operations: string): Attack => ({
  section: 'A8',
  name: 'every operation at its maximum: longest stall, time of a neighbour',
  async run(target) {
    const data = await prepareMaximums(target, share)
    const workers = await startWorkers(target)
    const maximums = [...maximumQueries(data), ...maximumMutations(target, data)].filter(({ name }) =>
      operations.split('|').some((each) => name.includes(each)),
    )
    await newConversation(target)
    await sleep(2_000)
    await target.peakMemory()
    if (!target.isPostgres) target.idleMB = await target.memory()
    await target.longestStall()
    await sleep(3_000)
    const idle = await target.longestStall()
    const rows: Row[] = []
    // The smallest query, as a control: the ratio that CONCURRENT requests cause regardless of their work.
    const control = await measureNeighbour(target, workers, {
      name: '',
      next: () => '{"query":"{viewer{actor}}"}',
      isQuery: true,
    })
    for (const maximum of maximums) {
      const row = await measure(target, workers, maximum)
      console.error(`  ${toCells(row).join('  ')}`)
      rows.push(row)
    }
    await workers.neighbour.stop()
    await workers.load.stop()
    console.log(table(HEADER, rows.map(toCells), (column) => column > 1 && column < 8).join('\n'))
    const failed = rows.filter(({ faults }) => faults.length > 0)
    const longest = Math.max(...rows.map(({ stall }) => stall))
    const summary = `${rows.length} operations, longest stall ${longest.toFixed(0)} ms, idle ${idle.toFixed(0)} ms, ratio beside the smallest query ${(control.beside / control.alone).toFixed(2)}`
    check(
      failed.length === 0,
      `${summary}; ${failed.map(({ name, faults }) => `${name}: ${faults.join(', ')}`).join('; ')}`,
    )
    return summary
  },
})
