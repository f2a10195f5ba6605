// Worker process of the benchmark processes.ts: appends turns with different texts to one server, one request at a time
// on each connection, and returns the acknowledged turns.

import { openConnection } from './http-client.ts'
import { APPEND } from './http-requests.ts'
import { answer } from './process.ts'

export type Appends = {
  port: number
  conversations: string[]
  connections: number
  ms: number
  /** Start of each text, different for each call of each writer. */
  prefix: string
}
export type AcknowledgedTurn = { conversationId: string; seq: number; id: string; text: string }

type Body = { data?: { appendTurn?: { turn?: { id: string; seq: number } } } }

answer<Appends, AcknowledgedTurn[]>(async ({ port, conversations, connections, ms, prefix }) => {
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(port)))
  const acknowledged: AcknowledgedTurn[] = []
  let next = 0
  const until = performance.now() + ms
  await Promise.all(
    open.map(async (connection) => {
      while (performance.now() < until) {
        const number = next++
        const conversationId = conversations[number % conversations.length]!
        const text = `${prefix} ${number}: the review of the billing change moves to Thursday.`
        const request = { query: APPEND, variables: { conversationId, text } }
        const { status, body } = await connection.post('/graphql', JSON.stringify(request))
        const turn = status === 200 ? (JSON.parse(body.toString()) as Body).data?.appendTurn?.turn : undefined
        if (!turn) throw new Error(`${status} ${body.toString().slice(0, 300)}`)
        acknowledged.push({ conversationId, text, ...turn })
      }
    }),
  )
  for (const connection of open) connection.close()
  return acknowledged
})
