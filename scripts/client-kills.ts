// Kills a server to which the clients of clients/javascript/kill.ts are subscribed while a writer appends turns, and compares
// the entries that each client received with the turns that the server acknowledged.

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServerProcess, type Server } from '../test/system/processes.ts'
import { newDataDir, type Backend } from '../test/support/backend.ts'

const CLIENTS = [
  'colloquy/client',
  'colloquy/client by SSE',
  'graphql-ws',
  'graphql-sse',
  'urql',
  'Apollo Client',
  'Relay',
]
const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM'] as const
/** Time within which all clients must catch up with the writer after a restart, ms. */
const CATCH_UP_MS = 60_000

async function send(server: Server, query: string, variables: object): Promise<any> {
  const response = await fetch(`http://${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-actor': 'bob' },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(10_000),
  })
  const { data, errors } = (await response.json()) as { data?: { result: unknown }; errors?: unknown }
  if (!data || errors) throw new Error(JSON.stringify(errors))
  return data.result
}

const CREATE = `mutation {
  result: createConversation(input: { participants: [{ actor: "ada" }, { actor: "bob" }] }) {
    ... on CreateConversationPayload { conversation { id lastSeq } }
  }
}`
const APPEND = `mutation ($input: AppendTurnInput!) {
  result: appendTurn(input: $input) { ... on AppendTurnPayload { turn { seq } } ... on UserError { message } }
}`

/** Appends turns until it is stopped. Repeats each turn until the server acknowledges it. */
function startWriter(server: Server, conversationId: string) {
  const acknowledged: number[] = []
  let stopped = false
  const done = (async () => {
    while (!stopped) {
      const turn = { role: 'USER', content: `turn ${acknowledged.length}`, clientId: randomUUID() }
      for (;;) {
        try {
          const result = await send(server, APPEND, { input: { conversationId, turn } })
          if (!result.turn) throw new Error(result.message)
          acknowledged.push(result.turn.seq)
          break
        } catch {
          await sleep(50)
        }
      }
      await sleep(10)
    }
  })()
  return { acknowledged, stop: () => ((stopped = true), done) }
}

/**
 * Starts all clients in one process. `received` has the seqs that each client received; `other` has all other lines of
 * the process's output. `reached` resolves with whether all clients receive the entry `seq` within CATCH_UP_MS.
 */
function startClients(server: Server, conversationId: string, directory: string) {
  const child = spawn(`${directory}node_modules/.bin/tsx`, ['kill.ts', conversationId], {
    cwd: directory,
    env: { ...process.env, COLLOQUY: server.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => child.kill())
  const received = new Map(CLIENTS.map((name) => [name, [] as number[]]))
  const other: string[] = []
  createInterface(child.stdout).on('line', (line) => {
    const [, name, seq] = /^(.*) (\d+)$/.exec(line) ?? []
    if (seq) received.get(name!)!.push(Number(seq))
    else other.push(line)
  })
  const reached = async (seq: number): Promise<boolean> => {
    for (const end = Date.now() + CATCH_UP_MS; Date.now() < end && child.exitCode === null; await sleep(50)) {
      if ([...received.values()].every((seqs) => (seqs.at(-1) ?? 0) >= seq)) return true
    }
    return false
  }
  return { received, other, reached, stop: () => child.kill() }
}

/** Counts the expected entries that a client lost, and those that it received twice or out of order. */
export function countFaults(received: number[], expected: number[]) {
  const seqs = new Set(received)
  return {
    lost: expected.filter((seq) => !seqs.has(seq)).length,
    doubled: received.length - seqs.size,
    disordered: received.filter((seq, index) => index > 0 && seq < received[index - 1]!).length,
  }
}

/** Kills and restarts a server on the backend. Returns one check for each client. `directory` is clients/javascript. */
export async function killUnderClients({ name, open }: Backend, directory: string) {
  const dataDir = name === 'embedded' ? await newDataDir() : null
  const opened = dataDir === null ? await open() : null
  const server = await createServerProcess(
    dataDir === null ? { databaseUrl: opened!.url!, redisUrl: opened!.redisUrl ?? '' } : { dataDir },
  )
  await server.start()
  const { conversation } = await send(server, CREATE, {})
  const clients = startClients(server, conversation.id, directory)
  const writer = startWriter(server, conversation.id)
  let following = await clients.reached(conversation.lastSeq + 1)
  let kills = 0
  for (const signal of SIGNALS) {
    if (!following) break // A client has failed already.
    kills += 1
    await sleep(500)
    await server.kill(signal)
    await server.start()
    const written = writer.acknowledged.length
    while (writer.acknowledged.length === written) await sleep(10)
    following = await clients.reached(writer.acknowledged.at(-1)!)
  }
  await writer.stop()
  if (following) await clients.reached(writer.acknowledged.at(-1)!)
  await sleep(500) // for entries that would arrive twice
  clients.stop()
  await server.kill('SIGTERM')
  await opened?.close()
  if (dataDir) await rm(dataDir, { recursive: true })

  if (clients.other.length > 0) console.log(clients.other.join('\n'))
  // The entries before the writer's: the participants who joined.
  const joined = Array.from({ length: conversation.lastSeq }, (_, index) => index + 1)
  return [...clients.received].map(([client, seqs]) => {
    const { lost, doubled, disordered } = countFaults(seqs, [...joined, ...writer.acknowledged])
    const counts = `${writer.acknowledged.length} turns, ${lost} lost, ${doubled} doubled, ${disordered} out of order`
    const failed = clients.other.some((line) => line.startsWith(`${client} `))
    return {
      client,
      check: `${kills} kills on ${name}: ${counts}`,
      passed: !failed && lost + doubled + disordered === 0,
    }
  })
}
