// A worker process that appends turns as a participant of another tenant than the attacker, and measures the time of
// each append. In the attacker's process, the times would include that process's own work.

import { Agent } from 'node:http'
import { answer } from '../bench/process.ts'
import { APPEND, CREATE, check } from './attack.ts'
import { post } from './post.ts'

/**
 * `create` creates a conversation on the server at the port. `append` appends that many turns, one after the other.
 * `start` appends until `stop`. `append` and `stop` return the time of each append, in ms.
 */
export type NeighbourQuestion =
  | { kind: 'create'; port: number }
  | { kind: 'append'; count: number }
  | { kind: 'start' }
  | { kind: 'stop' }

let port = 0
let appendBody = ''
let isStopped = false
let running: Promise<number[]> = Promise.resolve([])

async function send(agent: Agent, body: string): Promise<string> {
  const reply = await post(port, agent, { tenant: 'neighbour', actor: 'nina', body })
  check(reply.status === 200 && !/"errors"|"message"/.test(reply.body), reply.body.slice(0, 500))
  return reply.body
}

async function create(): Promise<void> {
  const created = JSON.parse(await send(new Agent(), JSON.stringify({ query: CREATE, variables: { input: {} } }))) as {
    data: { createConversation: { conversation: { id: string } } }
  }
  const conversationId = created.data.createConversation.conversation.id
  const input = { conversationId, turn: { role: 'USER', content: 'good morning' } }
  appendBody = JSON.stringify({ query: APPEND, variables: { input } })
}

/** Appends turns while `proceeds` returns true for the number of appended turns. Returns their times. */
async function append(proceeds: (appended: number) => boolean): Promise<number[]> {
  // The server closes a connection that was idle since the previous question.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  while (proceeds(times.length)) {
    const startedAt = performance.now()
    await send(agent, appendBody)
    times.push(performance.now() - startedAt)
  }
  agent.destroy()
  return times
}

answer<NeighbourQuestion, number[]>(async (question) => {
  switch (question.kind) {
    case 'create':
      port = question.port
      await create()
      return []
    case 'append':
      return append((appended) => appended < question.count)
    case 'start':
      isStopped = false
      running = append(() => !isStopped)
      // `stop` reports the error.
      running.catch(() => {})
      return []
    case 'stop':
      isStopped = true
      return running
  }
})
