// Calls of many verbs over every transport, of the library and of subscriptions, for tests of outages.

import { createClient as createSseClient } from 'graphql-sse'
import { getConversationPage } from '../../src/domain/conversation/conversation-page.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { buildContext } from '../../src/domain/memory/context/build.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import { DomainError } from '../../src/errors.ts'
import type { TestServer } from '../support/server.ts'

export const ADA = { tenant: 'outages', actor: 'ada' }
/** Codes of answers that a client may get during an outage. */
export const TRY_LATER = new Set(['SERVER_BUSY', 'UNAVAILABLE'])

type Operation = { query: string; variables?: Record<string, unknown> }
/** Returns 'ok', or the code of the error; also the status if it does not belong to the code. */
export type Call = () => Promise<string>

const result = (name: string, input: object): Operation => ({
  query: `mutation ($input: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename ... on UserError { code } } }`,
  variables: { input },
})

/** Operations of many verbs, without those whose success depends on other calls. */
const operationsOf = (conversationId: string): Operation[] => [
  result('appendTurn', { conversationId, turn: { role: 'USER', content: 'The tea is green.' } }),
  result('appendTurn', { conversationId, turn: { role: 'USER', content: 'For Ada.', audience: ['ada'] } }),
  result('appendTurns', {
    conversationId,
    turns: [
      { role: 'USER', content: 'one' },
      { role: 'USER', content: 'two' },
    ],
  }),
  result('openTurn', { conversationId, writerToken: 'w'.repeat(32), turn: { role: 'ASSISTANT' } }),
  result('createConversation', { participants: [{ actor: 'ada' }] }),
  result('updateConversation', { conversationId, title: 'Tea' }),
  result('addParticipant', { conversationId, participant: { actor: 'bob' } }),
  result('markRead', { conversationId, seq: 1 }),
  result('setPresence', { conversationId, state: 'TYPING' }),
  result('compact', { conversationId }),
  result('runTurn', { conversationId, actor: 'ada', wait: false }),
  result('updateTenantSettings', { tokensPerDay: 1_000_000_000 }),
  { query: '{ conversations(first: 5) { edges { node { id title participants(first: 3) { nodes { actor } } } } } }' },
  {
    query:
      '{ conversation(id: "ID") { id turns(last: 5) { nodes { text author { actor } } } viewerUnreadCount } }'.replace(
        'ID',
        conversationId,
      ),
  },
  {
    query: 'query ($input: RecallInput!) { recall(input: $input) { __typename ... on UserError { code } } }',
    variables: { input: { query: 'green tea', conversationId } },
  },
  {
    query:
      'query ($input: BuildContextInput!) { buildContext(input: $input) { __typename ... on UserError { code } } }',
    variables: { input: { conversationId, tokenBudget: 500 } },
  },
  { query: '{ facts(first: 5) { edges { node { id } } } }' },
  { query: '{ jobs(first: 5) { edges { cursor } } }' },
]

function codeOf({ data, errors }: any): string {
  if (errors?.length) return errors[0].extensions?.code ?? 'NO_CODE'
  const [payload] = Object.values(data) as { code?: string }[]
  return payload?.code === undefined || payload.code === 'CONFLICT' ? 'ok' : payload.code
}

/** Returns a call of each operation over each transport, of a few verbs of the library, and of subscriptions. */
export function callsOf(server: TestServer, conversationId: string): Record<string, Call> {
  const headers = { 'x-tenant': ADA.tenant, 'x-actor': ADA.actor }
  const over: Record<string, (operation: Operation) => Promise<string>> = {
    POST: (operation) => post(operation, 'application/json', 'application/json'),
    'POST by yoga': (operation) => post(operation, 'application/graphql+json', 'application/graphql-response+json'),
    'an event stream': (operation) => post(operation, 'application/json', 'text/event-stream'),
    'a WebSocket': overSocket,
  }

  async function post(operation: Operation, type: string, accept: string): Promise<string> {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type, accept },
      body: JSON.stringify(operation),
    })
    const text = await response.text()
    const isStream = response.headers.get('content-type')!.startsWith('text/event-stream')
    const answer = JSON.parse(isStream ? /^data: (\{.*)$/m.exec(text)![1]! : text)
    const code = codeOf(answer)
    // A field may be read before the connection is lost. The status of an answer with a value is 200.
    const hasValue = Object.values(answer.data ?? {}).some((value) => value !== null)
    const isAnsweredSo =
      TRY_LATER.has(code) && !hasValue
        ? response.status === 503 && response.headers.has('retry-after')
        : response.status === 200
    return isAnsweredSo ? code : `${code} with the status ${response.status}`
  }

  const client = server.client(headers)
  async function overSocket(operation: Operation): Promise<string> {
    for await (const answer of client.iterate(operation)) return codeOf(answer)
    return 'no answer'
  }
  const follow = {
    query: 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { __typename } }',
    variables: { id: conversationId },
  }
  const verb = async (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'ok',
      (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
    )
  const calls: Record<string, Call> = {
    'the library: appendTurn': () =>
      verb(appendTurn(server.deps, ADA, { conversationId, turn: { role: 'USER', content: 'tea' } })),
    'the library: createConversation': () => verb(createConversation(server.deps, ADA, {})),
    'the library: getConversationPage': () => verb(getConversationPage(server.deps, ADA, { first: 1 })),
    'the library: buildContext': () => verb(buildContext(server.deps, ADA, { conversationId, tokenBudget: 500 })),
    'a subscription over a WebSocket': () => overSocket(follow),
    'a subscription by an event stream': async () => {
      const streams = createSseClient({ url: `${server.url}/graphql`, headers, retryAttempts: 0 })
      try {
        for await (const answer of streams.iterate(follow)) return codeOf(answer)
        return 'no answer'
      } catch (error) {
        const { response } = error as { response?: Response }
        return response?.status === 503 ? codeOf(await response.json()) : String(error)
      } finally {
        streams.dispose()
      }
    },
  }
  for (const operation of operationsOf(conversationId)) {
    const [, name] = /(?:\{ |\) \{ )(\w+)/.exec(operation.query)!
    for (const [transport, send] of Object.entries(over)) calls[`${transport}: ${name}`] = () => send(operation)
  }
  return calls
}
