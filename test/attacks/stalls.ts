// Checks that no operation blocks the event loop: sends every operation at its documented maximum, while the server
// measures the stalls of its event loop and a participant of another tenant, the neighbour, appends turns. Other load
// on the machine must not fail the check: an operation runs again if its longest stall exceeds the limit, and the
// neighbour's median beside other requests is compared with its median alone, measured just before.

import { Agent } from 'node:http'
import { median, table } from '../bench/figures.ts'
import { ALLOWED_MB, check, newConversation, sleep, APPEND, errorOf, type Attack } from './attack.ts'
import { maximumMutations, maximumQueries, prepareMaximums, type Maximum } from './maximums.ts'
import type { Target } from './target.ts'

/** Maximum length of a stall of the event loop that an operation may cause, ms. */
const ALLOWED_STALL_MS = 100
/** Maximum number of runs of an operation. Another run follows only if all runs exceeded ALLOWED_STALL_MS. */
const RUNS = 3
/** Maximum ratio of the neighbour's median append time beside other requests to its median append time alone. */
const ALLOWED_RATIO = 2
/** Number of requests that run at the same time beside the neighbour. */
const CONCURRENT = 10
/** Number of appends of the neighbour alone, for one median. */
const APPENDS = 40
/** Time for which queries are repeated beside the neighbour, ms. */
const BESIDE_MS = 2_000

type Neighbour = { append(): Promise<number>; close(): void }

async function createNeighbour(target: Target): Promise<Neighbour> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const options = { tenant: 'neighbour', actor: 'nina', agent }
  const { conversation } = await target.get<{ conversation: { id: string } }>(
    'mutation { createConversation(input: {}) { ... on CreateConversationPayload { conversation { id } } } }',
    {},
    options,
  )
  const input = { conversationId: conversation.id, turn: { role: 'USER', content: 'good morning' } }
  return {
    async append() {
      const startedAt = performance.now()
      await target.get(APPEND, { input }, options)
      return performance.now() - startedAt
    },
    close: () => agent.destroy(),
  }
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

/** Returns the neighbour's median append time alone, and beside CONCURRENT requests of the operation. */
async function measureNeighbour(target: Target, neighbour: Neighbour, { next, options, isQuery }: Maximum) {
  const bodies: string[] = []
  for (let n = 0; n < CONCURRENT; n++) bodies.push(await next())
  const times: number[] = []
  for (let n = 0; n < APPENDS; n++) times.push(await neighbour.append())
  const alone = median(times.splice(0))
  let running = CONCURRENT
  const end = performance.now() + BESIDE_MS
  const requests = bodies.map(async (body) => {
    do await target.send(body, options)
    while (isQuery && performance.now() < end)
    running -= 1
  })
  while (running > 0) times.push(await neighbour.append())
  await Promise.all(requests)
  return { alone, beside: times.length > 0 ? median(times) : alone }
}

async function measure(target: Target, neighbour: Neighbour, maximum: Maximum): Promise<Row> {
  const stalled = await measureStall(target, maximum)
  const appended = await measureNeighbour(target, neighbour, maximum)
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
 * @param operations selects the operations whose name contains this text
 */
export const stallAttack = (share: number, operations: string): Attack => ({
  section: 'A8',
  name: 'every operation at its maximum: longest stall, time of a neighbour',
  async run(target) {
    const data = await prepareMaximums(target, share)
    const neighbour = await createNeighbour(target)
    const maximums = [...maximumQueries(data), ...maximumMutations(target, data)].filter(({ name }) =>
      name.includes(operations),
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
    const control = await measureNeighbour(target, neighbour, {
      name: '',
      next: () => '{"query":"{viewer{actor}}"}',
      isQuery: true,
    })
    for (const maximum of maximums) {
      const row = await measure(target, neighbour, maximum)
      console.error(`  ${toCells(row).join('  ')}`)
      rows.push(row)
    }
    neighbour.close()
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
