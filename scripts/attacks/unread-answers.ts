// Attacks with answers that nobody reads: connections request large answers, of up to 14.5 MB, and accept no data. Every
// answer is within the limits of operations. Most connections have a viewer of their own, so limits per viewer do not
// suffice. While the connections are open, a neighbour of another tenant reads such answers.

import { connect, type Socket } from 'node:net'
import { appendTurns, check, newConversation, sleep, type Attack } from './attack.ts'
import type { Target } from './target.ts'

const CONNECTIONS = 150
const TENANTS = 10
/** A page of TURNS turns has about 1 MB, the maximum; PAGES of them have 14.5 MB. */
const TURNS = 4
const TURN_UNITS = 259_000
const PAGES = 14
/** Time for which the connections stay open, ms. */
const OPEN_MS = 20_000
/** Interval between the requests of the neighbour, ms, and maximum time of one. */
const ASK_MS = 500
const ALLOWED_MS = 10_000
/** Time after the end of the connections at which the memory is measured, ms. */
const AFTER_MS = 10_000
/** Maximum memory beyond that of the idle server after AFTER_MS, MB. */
const ALLOWED_AFTER_MB = 100

const pages = Array.from({ length: PAGES }, (_, n) => `p${n}: turns(first: ${TURNS}) { edges { node { text } } }`)
const QUERY = `query Unread($id: ID!) { conversation(id: $id) { ${pages.join(' ')} } }`

type Client = { tenant: string; actor: string; id: string }

/** A request: its first line without the version, headers besides those of the client, and its body. */
type Sent = { line: string; headers?: string; body?: string }

const byPost = (id: string, headers = ''): Sent => ({
  line: 'POST /graphql',
  headers: `content-type: application/json\r\n${headers}`,
  body: JSON.stringify({ query: QUERY, variables: { id } }),
})

/** A call of a tool whose answer has about 0.8 MB: the text of one turn, three times. */
const byMcp = (conversation: string): Sent => ({
  line: 'POST /mcp',
  headers: 'content-type: application/json\r\naccept: application/json, text/event-stream\r\n',
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'read_history', arguments: { conversation, last: 1 } },
  }),
})

/** The requests by the name of the path that answers them in the server. A page of the REST API has about 2 MB. */
const PATHS = {
  'the fast path': ({ id }) => byPost(id),
  yoga: ({ id }, port) => byPost(id, `origin: http://localhost:${port}\r\n`),
  'an event stream': ({ id }) => byPost(id, 'accept: text/event-stream\r\n'),
  'the MCP server': ({ id }) => byMcp(id),
  'the REST API': ({ id }) => ({ line: `GET /api/v1/conversations/${id}/turns?first=${TURNS}` }),
} satisfies Record<string, (client: Client, port: number) => Sent>

/** Sends the request on a connection of its own, which never reads. */
function sendUnread({ port }: Target, { tenant, actor }: Client, { line, headers = '', body }: Sent): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.pause()
  socket.on('error', () => {})
  const length = body === undefined ? '' : `content-length: ${body.length}\r\n`
  socket.write(
    `${line} HTTP/1.1\r\nhost: localhost:${port}\r\n${headers}`
      + `x-tenant: ${tenant}\r\nx-actor: ${actor}\r\n${length}\r\n${body ?? ''}`,
  )
  return socket
}

async function attack(target: Target, requestOf: (client: Client, port: number) => Sent): Promise<string> {
  const tenants = Array.from({ length: TENANTS + 1 }, (_, n) => `attacked-${n}`)
  const ids: string[] = []
  for (const tenant of tenants) {
    ids.push(await newConversation(target, {}, { tenant }))
    await appendTurns(target, ids.at(-1)!, { count: TURNS, units: TURN_UNITS }, { tenant })
  }
  const ask = async () => {
    const startedAt = performance.now()
    const { status, bytes, body } = await target.post(QUERY, { id: ids[TENANTS] }, { tenant: tenants[TENANTS] })
    return { status, bytes, body: body.slice(0, 200), ms: performance.now() - startedAt }
  }
  const alone = await ask()
  check(alone.bytes > 14_000_000, `the answer has ${alone.bytes} bytes`)
  await sleep(15_000)
  await target.peakMemory()
  target.idleMB = await target.memory()

  const sockets: Socket[] = []
  for (let n = 0; n < CONNECTIONS; n++) {
    const at = n % TENANTS
    const client = { tenant: tenants[at]!, actor: `reader-${n}`, id: ids[at]! }
    sockets.push(sendUnread(target, client, requestOf(client, target.port)))
  }
  await sleep(1_000)
  const endsAt = performance.now() + OPEN_MS
  const beside: Awaited<ReturnType<typeof ask>>[] = []
  while (performance.now() < endsAt) {
    beside.push(await ask())
    await sleep(ASK_MS)
  }
  for (const socket of sockets) socket.destroy()
  await sleep(AFTER_MS)
  const after = (await target.memory()) - target.idleMB
  const failed = beside.filter(({ status, bytes }) => status !== 200 || bytes !== alone.bytes)
  const times = beside.map(({ ms }) => ms).sort((a, b) => a - b)
  const [median, slowest] = [times[Math.floor(times.length / 2)]!, times.at(-1)!]
  const outcome =
    `idle ${target.idleMB.toFixed(0)} MB; after ${AFTER_MS / 1000} s ${after.toFixed(0)} MB more; neighbour: `
    + `${failed.length} of ${beside.length} refused${failed[0] ? ` (${failed[0].status} ${failed[0].body})` : ''}, median ${median.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms, `
    + `alone ${alone.ms.toFixed(0)} ms`
  check(after <= ALLOWED_AFTER_MB, outcome)
  check(failed.length === 0 && slowest <= ALLOWED_MS, outcome)
  return outcome
}

export const unreadAnswerAttacks: Attack[] = Object.entries(PATHS).map(([path, requestOf]) => ({
  section: 'A11',
  name: `${CONNECTIONS} unread answers by ${path}`,
  run: (target) => attack(target, requestOf),
}))
