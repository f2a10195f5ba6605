// Attacks with uploads that do not end. Every upload has a viewer of its own and the address of a neighbour, who sends
// bodies of 1 MB and batches of 2 MB meanwhile. An upload that the server closes is sent again.

import { connect, type Socket } from 'node:net'
import { check, newConversation, sleep, type Attack } from './attack.ts'
import type { Target } from './target.ts'

const UPLOADS = 10
const BYTES = 16_000_000
/** Time after which a closed upload is sent again, ms. A shorter time would measure the throughput of loopback. */
const AGAIN_MS = 2_000
/** Number of times the neighbour sends both bodies, and the interval, ms. */
const ROUNDS = 10
const INTERVAL_MS = 1_000
/**
 * Maximum time of two requests of the neighbour, ms, and as a multiple of the time without uploads, whichever is longer.
 * Within this time, no stalled upload reaches a time limit.
 */
const ALLOWED_MS = 4_000
const ALLOWED_FACTOR = 5

const NEIGHBOUR = { tenant: 'neighbour', actor: 'nina' }
const SMALL = `{ __typename } # ${'x'.repeat(1_000_000)}`
const APPEND = 'mutation ($input: AppendTurnsInput!) { appendTurns(input: $input) { __typename } }'
const TURNS = Array.from({ length: 10 }, () => ({ role: 'USER', content: 'word '.repeat(40_000) }))

/** Keeps an upload open that has sent `sent` bytes. Returns a function that ends it. */
function upload({ port }: Target, actor: string, sent: number): () => void {
  let socket: Socket
  let isEnded = false
  function open(): void {
    socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.once('close', () => {
      if (!isEnded) setTimeout(open, AGAIN_MS)
    })
    socket.write(
      'POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nx-batch: 1\r\n'
        + `x-tenant: attacked\r\nx-actor: ${actor}\r\ncontent-length: ${BYTES}\r\n\r\n`,
    )
    if (sent > 0) socket.write(Buffer.alloc(sent, 'a'))
    // The server closes the connection after its refusal.
    socket.resume()
  }
  open()
  return () => {
    isEnded = true
    socket.destroy()
  }
}

async function attack(target: Target, sent: number): Promise<string> {
  const conversationId = await newConversation(target, {}, NEIGHBOUR)
  const input = { conversationId, turns: TURNS }
  const failed: string[] = []
  const send = async (query: string, variables: object, isBatch: boolean) => {
    const { status, body } = await target.post(query, variables, { ...NEIGHBOUR, isBatch })
    if (status !== 200) failed.push(`${status} ${body.slice(0, 200)}`)
  }
  /** Sends both bodies, and returns the time, ms. */
  const round = async () => {
    const startedAt = performance.now()
    await send(SMALL, {}, false)
    await send(APPEND, { input }, true)
    return performance.now() - startedAt
  }
  const alone = [await round(), await round()]

  const ends = Array.from({ length: UPLOADS }, (_, n) => upload(target, `uploader-${n}`, sent))
  await sleep(500)
  const beside: number[] = []
  for (let n = 0; n < ROUNDS; n++) {
    beside.push(await round())
    await sleep(INTERVAL_MS)
  }
  for (const end of ends) end()
  const slowest = Math.max(...beside)
  const outcome =
    `${failed.length} of ${2 * ROUNDS} requests of a neighbour refused; two took at most ${slowest.toFixed(0)} ms, `
    + `alone ${alone[1]!.toFixed(0)} ms`
  check(
    failed.length === 0 && slowest <= Math.max(ALLOWED_MS, ALLOWED_FACTOR * alone[1]!),
    `${outcome} ${failed.join()}`,
  )
  return outcome
}

const SENT = { 'send nothing': 0, 'lack one byte': BYTES - 1 }

export const uploadAttacks: Attack[] = Object.entries(SENT).map(([name, sent]) => ({
  section: 'A7',
  name: `${UPLOADS} uploads of 16 MB that ${name}, and a neighbour with the same address`,
  run: (target) => attack(target, sent),
}))
