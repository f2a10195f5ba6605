// Follows a conversation with each stock client, as the documents describe, and prints a line `<client> <seq>` for each
// entry. scripts/client-kills.ts kills the server meanwhile, and counts lost, repeated and disordered entries.

import { gql } from '@apollo/client'
import { WebSocket } from 'ws'
import { createClient } from 'graphql-sse'
import { requestSubscription } from 'relay-runtime'
import { connect, resuming } from '../../src/client/index.ts'
import { url } from './live.ts'
import { client as apollo } from './generated/recipes/apollo.ts'
import { follow } from './generated/recipes/follow.ts'
import { environment } from './generated/recipes/relay.ts'
import Live, { type programLiveSubscription } from './generated/relay/programLiveSubscription.graphql.ts'
import { headers } from './generated/recipes/socket.ts'
import { client as urql } from './generated/recipes/urql.ts'

const conversation = process.argv[2]!
const query = `subscription Follow($conversation: ID!, $afterSeq: Int) {
  conversationEvents(conversationId: $conversation, afterSeq: $afterSeq) {
    __typename
    seq
    ... on Gap { resumeAfterSeq }
  }
}`
const variables = { conversation, afterSeq: 0 }

const printTo = (name: string) => (event: { seq?: number | null } | null | undefined) => {
  if (event?.seq != null) console.log(`${name} ${event.seq}`)
}
const failTo = (name: string) => (reason: unknown) => console.log(`${name} failed`, reason)

for (const [name, webSocket] of [
  ['colloquy/client', WebSocket],
  ['colloquy/client by SSE', null],
] as const) {
  const client = connect({ url, actor: 'ada', webSocket })
  void (async () => {
    for await (const event of client.conversation(conversation).follow({ afterSeq: 0 })) printTo(name)(event)
  })().catch(failTo(name))
}

void follow(conversation, printTo('graphql-ws'))

const sse = resuming(createClient({ url, headers, retryAttempts: Infinity }))
const [printSse, failSse] = [printTo('graphql-sse'), failTo('graphql-sse')]
sse.subscribe<{ conversationEvents: { seq: number } }>(
  { query, variables },
  { next: ({ data }) => printSse(data?.conversationEvents), error: failSse, complete: () => {} },
)

const printUrql = printTo('urql')
urql.subscription(query, variables).subscribe(({ data, error }) => {
  if (error) return failTo('urql')(error)
  printUrql(data?.conversationEvents)
})

const printApollo = printTo('Apollo Client')
apollo
  .subscribe<{ conversationEvents: { seq: number } }>({ query: gql(query), variables })
  .subscribe({ next: ({ data }) => printApollo(data?.conversationEvents), error: failTo('Apollo Client') })

const printRelay = printTo('Relay')
requestSubscription<programLiveSubscription>(environment, {
  subscription: Live,
  variables,
  onNext: (response) => printRelay(response?.conversationEvents),
  onError: failTo('Relay'),
})
