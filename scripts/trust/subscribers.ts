// A subscriber that stops reading must delay only itself: measures the memory of the server, and the time until a turn
// has reached the live subscribers, without and with a paused subscriber. Memory is compared between two servers that
// deliver the same turns, because the embedded database and the heap grow with the number of turns.

import WebSocket from 'ws'
import { APPEND, appendTurns, newConversation, sleep } from '../attacks/attack.ts'
import { startTarget, type Target } from '../attacks/target.ts'
import type { Context, Row, Section, Store } from './section.ts'

const LIVE = 99
const TURNS = 5_000
const TURN_UNITS = 16 * 1024
/** Number of turns that are appended without a paused subscriber, before the turns with one, and again after them. */
const CONTROL_TURNS = 1_000
const LARGE_TURNS = 100
const LARGE_UNITS = 250_000
/** Operations of the paused socket on the large turns. */
const OPERATIONS = 100

const MAX_GROWTH_MB = 50
const MAX_CHANGE = 0.2
/** Maximum number of measurements. Another one follows only if all exceeded a gate, which other load may cause. */
const MEASUREMENTS = 3

const SUBSCRIPTION = `subscription ($id: ID!, $afterSeq: Int) {
  conversationEvents(conversationId: $id, afterSeq: $afterSeq) { ... on TurnAppended { turn { text } } }
}`

async function openSocket({ port }: Target): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws', { perMessageDeflate: false })
  socket.on('error', () => {})
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const acknowledged = new Promise((resolve) => socket.once('message', resolve))
  socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-tenant': 'attacked', 'x-actor': 'mallory' } }))
  await acknowledged
  return socket
}

const subscribe = (socket: WebSocket, id: string, variables: object) =>
  socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query: SUBSCRIPTION, variables } }))

/** Live subscribers. `appendTurn` appends the next turn, and resolves with the time to each delivery, ms. */
type Audience = { appendTurn(): Promise<number[]>; close(): void }

async function gather(target: Target, conversationId: string): Promise<Audience> {
  const filler = 'lorem ipsum dolor '.repeat(TURN_UNITS / 18).slice(0, TURN_UNITS - 20)
  let arrived: (ms: number) => void = () => {}
  let sentAt = 0
  let next = 0
  let expected = ''
  const sockets = await Promise.all(Array.from({ length: LIVE }, () => openSocket(target)))
  for (const socket of sockets) {
    socket.on('message', (data: Buffer) => {
      if (data.subarray(0, 200).includes(expected)) arrived(performance.now() - sentAt)
    })
    subscribe(socket, '1', { id: conversationId })
  }
  await sleep(1_000)
  return {
    async appendTurn() {
      expected = `#${++next}#`
      const times: number[] = []
      const all = new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${times.length} of ${LIVE} received a turn in 30 s`)), 30_000)
        arrived = (ms) => {
          times.push(ms)
          if (times.length < LIVE) return
          clearTimeout(timer)
          resolve()
        }
      })
      sentAt = performance.now()
      const turn = { role: 'USER', content: `${expected} ${filler}` }
      await Promise.all([target.get(APPEND, { input: { conversationId, turn } }), all])
      return times
    },
    close: () => sockets.forEach((socket) => socket.terminate()),
  }
}

const p99 = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!

async function deliver(audience: Audience, turns: number): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < turns; n++) times.push(...(await audience.appendTurn()))
  return p99(times)
}

type Scenario = {
  name: string
  /** Number of turns that the live subscribers receive while the socket is paused. */
  turns: number
  /** Writes the turns for the paused socket. Returns its conversation's id; null if it is that of the live sockets. */
  prepare(target: Target): Promise<string | null>
  /** Sends the operations of the socket, which is not read afterwards. */
  operate(socket: WebSocket, conversationId: string): void
}

const scenarios = (share: number): Scenario[] => [
  {
    name: `1 paused and ${LIVE} live, ${TURNS * share} turns of 16 KiB`,
    turns: TURNS * share,
    prepare: () => Promise.resolve(null),
    operate: (socket, id) => subscribe(socket, '1', { id }),
  },
  {
    name: `1 paused with ${OPERATIONS} operations from afterSeq 0 on ${LARGE_TURNS} turns of 250 KB`,
    turns: CONTROL_TURNS * share,
    async prepare(target) {
      const id = await newConversation(target)
      await appendTurns(target, id, { count: LARGE_TURNS, units: LARGE_UNITS })
      return id
    },
    operate(socket, id) {
      for (let n = 0; n < OPERATIONS; n++) subscribe(socket, `${n}`, { id, afterSeq: 0 })
    },
  },
]

type Measured = { growthMB: number; change: number; before: number; during: number }

const passes = ({ growthMB, change }: Measured) => growthMB < MAX_GROWTH_MB && change < MAX_CHANGE

/** Delivers the turns of the scenario. With `isPaused`, a paused socket subscribes first. */
async function deliverAll(
  target: Target,
  { turns, prepare, operate }: Scenario,
  share: number,
  isPaused: boolean,
): Promise<{ peakMB: number; before: number; during: number }> {
  const live = await newConversation(target)
  const paused = (await prepare(target)) ?? live
  const audience = await gather(target, live)
  const control = CONTROL_TURNS * share
  try {
    await deliver(audience, control) // To warm up.
    const before = await deliver(audience, control)
    const socket = isPaused ? await openSocket(target) : null
    socket?.pause()
    if (socket) operate(socket, paused)
    const during = await deliver(audience, turns)
    const peakMB = await target.peakMemory()
    socket?.terminate()
    const after = await deliver(audience, control)
    return { peakMB, before: (before + after) / 2, during }
  } finally {
    audience.close()
  }
}

async function measure(store: Store, scenario: Scenario, share: number): Promise<Measured> {
  const results: { peakMB: number; before: number; during: number }[] = []
  for (const isPaused of [false, true]) {
    // A long timeout, because the server must not close the paused socket.
    const target = await startTarget({ ...(await store.env()), WRITE_TIMEOUT_SECONDS: '600' })
    try {
      results.push(await deliverAll(target, scenario, share, isPaused))
      if (!(await target.isAlive())) throw new Error('the server ended')
    } finally {
      await target.stop()
    }
  }
  const [without, { peakMB, before, during }] = results as [{ peakMB: number }, (typeof results)[0]]
  return { growthMB: peakMB - without.peakMB, change: during / before - 1, before, during }
}

async function rowsOf(store: Store, scenario: Scenario, { share, log }: Context): Promise<Row[]> {
  let best: Measured | null = null
  for (let n = 0; n < MEASUREMENTS && !(best && passes(best)); n++) {
    const measured = await measure(store, scenario, share)
    log(`${store.name}, ${scenario.name}: ${JSON.stringify(measured)}`)
    if (!best || passes(measured)) best = measured
  }
  const { growthMB, change, before, during } = best!
  const name = `${store.name}, ${scenario.name}`
  return [
    { name, value: `memory +${growthMB.toFixed(0)} MB`, gate: `< ${MAX_GROWTH_MB} MB`, ok: growthMB < MAX_GROWTH_MB },
    {
      name: `${store.name}, p99 of the live subscribers`,
      value: `${before.toFixed(1)} → ${during.toFixed(1)} ms (${(change * 100).toFixed(0)} %)`,
      gate: `< +${MAX_CHANGE * 100} %`,
      ok: change < MAX_CHANGE,
    },
  ]
}

export const subscribers: Section = {
  name: 'paused subscriber',
  async run(context) {
    const rows: Row[] = []
    for (const store of context.stores) {
      for (const scenario of scenarios(context.share)) rows.push(...(await rowsOf(store, scenario, context)))
    }
    return rows
  },
}
