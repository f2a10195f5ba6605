// JSON that is nested too deeply, in every input that accepts JSON, on every transport: the answer has the code
// INVALID_INPUT and names the maximum depth.

import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { JSON_DEPTH, TOO_DEEP } from '../../../../src/domain/kernel/input.ts'
import { appendTurn } from '../../../../src/domain/turn/append/append.ts'
import { schema } from '../../../../src/graphql/schema.ts'
import { backends } from '../../../support/backend.ts'
import { plainValue, rootFieldsOf, type RootField } from '../../../support/generated-operations.ts'
import { isLong } from '../../../support/long.ts'
import { useServer } from '../../../support/server.ts'

const lists = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const objects = (depth: number) => `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`

/** The smallest depth that is rejected, one at which JSON.stringify exceeds the stack, and one far beyond. */
const VALUES = [lists(JSON_DEPTH + 1), objects(5_000), lists(50_000)]

const inputs = rootFieldsOf(schema, 1).flatMap((field) =>
  field.leaves.flatMap(({ type, path }) => (type === 'JSON' ? [{ field, path }] : [])),
)

/** All inputs if `isLong`, otherwise every fourth. */
const tested = inputs.filter((_, index) => isLong || index % 4 === 0)

/** Replaced with the nested JSON in the text of the request, because JSON.stringify cannot serialise it. */
const PLACEHOLDER = 'nested JSON'

/** Returns the parameters of a request, as text, with the JSON at the path of the field's input. */
function requestOf(field: RootField, path: string, json: string, conversationId: string): string {
  const conversation = field.leaves.find(({ name }) => name === 'conversationId')
  const variables = field.variables([path, conversation?.path ?? ''], (leaf) => {
    if (leaf === conversation) return conversationId
    return leaf.path === path ? PLACEHOLDER : plainValue(schema, leaf)
  })
  return JSON.stringify({ query: field.query, variables }).replace(`"${PLACEHOLDER}"`, json)
}

describe.each(backends)('on $name, JSON that is nested too deeply', (backend) => {
  // Redaction reads the whole input.
  const server = useServer(backend, {}, { settings: { redact: 'turns' } })
  const error = vi.fn()
  let conversationId: string
  beforeAll(async () => {
    vi.spyOn(server.deps.log, 'error').mockImplementation(error)
    const ada = { tenant: 'default', actor: 'ada' }
    conversationId = (await createConversation(server.deps, ada, {})).conversation.id
    await appendTurn(server.deps, ada, { conversationId, turn: { role: 'USER', content: 'hello' } })
  })
  afterAll(() => expect(error).not.toHaveBeenCalled())

  async function post(body: string, more: Record<string, string> = {}): Promise<string> {
    const headers = { 'x-actor': 'ada', 'content-type': 'application/json', ...more }
    return (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).text()
  }

  /** Returns the first events of the stream: those that arrive until one has data. */
  async function overStream(body: string): Promise<string> {
    const headers = { 'x-actor': 'ada', 'content-type': 'application/json', accept: 'text/event-stream' }
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })
    let text = ''
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part
      if (/^data: ./m.test(text)) break
    }
    return text
  }

  async function overSocket(payload: string): Promise<string> {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-actor': 'ada' } }))
    await once(socket, 'message')
    socket.send(`{"id":"1","type":"subscribe","payload":${payload}}`)
    const [answer] = await once(socket, 'message')
    socket.terminate()
    return String(answer)
  }

  /** The second request by POST with the same document takes the fast path. */
  const TRANSPORTS: Record<string, (request: string) => Promise<string>> = {
    'the fast path of POST': (request) => post(request).then(() => post(request)),
    'POST by yoga': (request) => post(request, { 'content-type': 'application/graphql+json' }),
    'an event stream': overStream,
    'a WebSocket': overSocket,
  }

  it.each(Object.keys(TRANSPORTS))('is rejected in every input over %s', async (transport) => {
    const wrong: string[] = []
    for (const { field, path } of tested) {
      for (const json of VALUES) {
        const answer = await TRANSPORTS[transport]!(requestOf(field, path, json, conversationId))
        if (!answer.includes('INVALID_INPUT') || !answer.includes(TOO_DEEP)) {
          wrong.push(`${field.name} ${path} with ${json.length} characters: ${answer.slice(0, 300)}`)
        }
      }
    }
    expect(wrong).toEqual([])
  })
  it.each(['an event stream', 'a WebSocket'])(
    'does not disturb %s that does not declare the variable',
    async (transport) => {
      const query = 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { seq } }'
      const request = JSON.stringify({ query, variables: { id: conversationId, more: PLACEHOLDER } })
      const answer = await TRANSPORTS[transport]!(request.replace(`"${PLACEHOLDER}"`, lists(50_000)))
      expect(answer).toContain('"conversationEvents":{"seq":1}')
    },
  )
})
