// The requests of a transcript over GraphQL: its headers and variables, and the error of each kind of failure.

import { expect, it } from 'vitest'
import { connectTranscript, type ConnectOptions } from '../../../src/transcript/connect.ts'
import { RequestFailed } from '../../../src/transcript/errors.ts'

type Sent = { url: unknown; headers: Record<string, string>; variables: unknown }

/** Connects to a server that answers each request with the function. */
function connected(
  answer: (signal: AbortSignal) => Promise<Response> | Response,
  options: Partial<ConnectOptions> = {},
) {
  const sent: Sent[] = []
  const transcript = connectTranscript({
    url: 'http://colloquy.test/graphql',
    fetch: async (url, init) => {
      const { variables } = JSON.parse(init!.body as string)
      sent.push({ url, headers: init!.headers as Record<string, string>, variables })
      return answer(init!.signal!)
    },
    ...options,
  })
  return { transcript, sent }
}
const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status })
const found = () => json({ data: { conversation: null } })

it.each([
  ['the actor and the tenant without a token', {}, { 'x-actor': 'm%C3%B6we', 'x-tenant': 'har%2Fbour' }, undefined],
  ['the tenant with a token', { token: 'key' }, { authorization: 'Bearer key', 'x-tenant': 'har%2Fbour' }, 'möwe'],
])('sends %s', async (_, options, headers, as) => {
  const { transcript, sent } = connected(found, { actor: 'möwe', tenant: 'har/bour', ...options })
  expect(await transcript.findConversation('chat-1')).toBeNull()
  expect(sent).toHaveLength(1)
  const { 'content-type': type, accept: _accept, ...names } = sent[0]!.headers
  expect(type).toBe('application/json')
  expect(names).toEqual(headers)
  expect(sent[0]).toMatchObject({ url: 'http://colloquy.test/graphql', variables: { key: 'chat-1' } })
  expect((sent[0]!.variables as { as?: string }).as).toBe(as)
})

it('acts as the given actor instead of its own', async () => {
  const payload = { deletedConversationId: 'c' }
  const { transcript, sent } = connected(() => json({ data: { deleteConversation: payload } }), {
    token: 'key',
    actor: 'ada',
  })
  await transcript.deleteConversation('c', 'bob')
  await transcript.deleteConversation('c')
  expect(sent.map(({ variables }) => variables)).toEqual([
    { input: { conversationId: 'c', as: 'bob' } },
    { input: { conversationId: 'c', as: 'ada' } },
  ])
})

const failed = (code: string, message = 'No.') => ({ errors: [{ message, extensions: { code } }] })
it.each([
  ['the connection fails', () => Promise.reject(new TypeError('fetch failed')), 'UNREACHABLE'],
  [
    'the answer breaks off',
    () => new Response(new ReadableStream({ pull: (c) => c.error(new Error()) })),
    'UNREACHABLE',
  ],
  ['a proxy answers', () => new Response('<html>', { status: 502 }), 'HTTP_502'],
  ['a proxy refuses the request', () => new Response('', { status: 401 }), 'HTTP_401'],
  ['the answer has no data', () => json({}), 'HTTP_200'],
  ['the data are null', () => json({ data: null }), 'HTTP_200'],
  ['the error has no code', () => json({ errors: [{ message: 'No.' }] }, 400), 'HTTP_400'],
  ['the server refuses the request', () => json(failed('UNAUTHENTICATED'), 401), 'UNAUTHENTICATED'],
])('throws RequestFailed if %s', async (_, answer, code) => {
  const { transcript } = connected(answer)
  const error = await transcript.listConversations({}, null).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(RequestFailed)
  expect(error).toMatchObject({ name: 'RequestFailed', code })
})

it('throws RequestFailed if the server does not answer in time, or the URL is unusable', async () => {
  const never = (signal: AbortSignal) =>
    new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const { transcript } = connected(never, { timeoutSeconds: 0.01 })
  await expect(transcript.findConversation('chat-1')).rejects.toMatchObject({
    name: 'RequestFailed',
    code: 'UNREACHABLE',
  })
  const unusable = connectTranscript({ url: 'colloquy.test' })
  await expect(unusable.findConversation('chat-1')).rejects.toMatchObject({
    name: 'RequestFailed',
    code: 'UNREACHABLE',
  })
})

it('throws RequestFailed with the code and message of an error in the result', async () => {
  const result = { __typename: 'Conflict', code: 'CONFLICT', message: 'Taken.' }
  const { transcript } = connected(() => json({ data: { appendTurns: result } }))
  await expect(transcript.appendTurns('c', [])).rejects.toMatchObject({
    name: 'RequestFailed',
    code: 'CONFLICT',
    message: 'Taken.',
  })
})

it('finds no conversation for an actor who is unknown to the server', async () => {
  const { transcript } = connected(() => json(failed('UNKNOWN_ACTOR'), 403))
  expect(await transcript.findConversation('chat-1')).toBeNull()
})
