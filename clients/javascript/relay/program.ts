// Relay with artifacts of relay-compiler: a union of results, pages with @connection and @refetchable, an edge appended
// by a mutation, and a store that a subscription updates.

import assert from 'node:assert/strict'
import {
  commitMutation,
  ConnectionHandler,
  createOperationDescriptor,
  fetchQuery,
  getFragment,
  getRequest,
  getSingularSelector,
  graphql,
  requestSubscription,
  type GraphQLTaggedNode,
  type OperationType,
} from 'relay-runtime'
import { check, createConversations, rename, say, setPresence, until } from '../live.ts'
import type { programAppendTurnMutation } from '../generated/relay/programAppendTurnMutation.graphql.ts'
import type { programConversationQuery } from '../generated/relay/programConversationQuery.graphql.ts'
import type { programConversationsQuery } from '../generated/relay/programConversationsQuery.graphql.ts'
import type { programLiveSubscription } from '../generated/relay/programLiveSubscription.graphql.ts'
import type { program_turns$data, program_turns$key } from '../generated/relay/program_turns.graphql.ts'
import programTurnsQuery from '../generated/relay/programTurnsQuery.graphql.ts'
import { environment } from '../generated/recipes/relay.ts'
import { socket } from '../generated/recipes/socket.ts'

const AppendTurn = graphql`
  mutation programAppendTurnMutation($input: AppendTurnInput!, $connections: [ID!]!) {
    appendTurn(input: $input) {
      __typename
      ... on AppendTurnPayload {
        turnEdge @appendEdge(connections: $connections) {
          node {
            id
            text
            createdAt
            parts {
              __typename
              ... on TextPart {
                text
              }
            }
            conversation {
              id
              tokenCount
            }
          }
        }
      }
      ... on InvalidInput {
        issues {
          path
          message
        }
      }
      ... on UserError @alias(as: "error") {
        code
        message
      }
    }
  }
`

const Conversations = graphql`
  query programConversationsQuery($first: Int!, $after: String) {
    conversations(first: $first, after: $after) @connection(key: "list_conversations") {
      edges {
        node {
          id
          title
          viewerUnreadCount
          lastTurn {
            id
            text
          }
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`

const Conversation = graphql`
  query programConversationQuery($id: ID!, $first: Int!, $after: String) {
    conversation(id: $id) {
      id
      title
      participants(first: 10) {
        nodes {
          id
          actor
          presence
        }
      }
      ...program_turns
    }
  }
`

const Turns = graphql`
  fragment program_turns on Conversation @refetchable(queryName: "programTurnsQuery") {
    id
    turns(first: $first, after: $after) @connection(key: "conversation_turns") {
      edges {
        node {
          id
          text
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`

const Live = graphql`
  subscription programLiveSubscription($conversation: ID!, $afterSeq: Int) {
    conversationEvents(conversationId: $conversation, afterSeq: $afterSeq) {
      __typename
      seq
      ... on Gap {
        resumeAfterSeq
      }
      ... on PresenceChanged {
        participant {
          id
          presence
        }
      }
      ... on ConversationUpdated {
        conversation {
          id
          title
        }
      }
      ... on TurnAppended {
        turn {
          id
          conversation {
            id
            viewerUnreadCount
            lastTurn {
              id
              text
            }
          }
        }
      }
    }
  }
`

/** Fetches a query and keeps its data. Returns a function that reads the data's current state from the store. */
async function watch<T extends OperationType>(query: GraphQLTaggedNode, variables: T['variables']) {
  const operation = createOperationDescriptor(getRequest(query), variables)
  environment.retain(operation)
  await fetchQuery<T>(environment, query, variables).toPromise()
  let { data } = environment.lookup(operation.fragment)
  environment.subscribe(environment.lookup(operation.fragment), (snapshot) => (data = snapshot.data))
  return () => data as T['response']
}

/** Returns a function that reads the current turns of a conversation, as usePaginationFragment does. */
function watchTurns(conversation: program_turns$key) {
  const selector = getSingularSelector(getFragment(Turns), conversation)
  let { data } = environment.lookup(selector)
  environment.subscribe(environment.lookup(selector), (snapshot) => (data = snapshot.data))
  return () => (data as program_turns$data).turns
}

type Input = programAppendTurnMutation['variables']['input']

/** Appends a turn. Returns a description of the turn or the error. The last line also handles errors added later. */
async function append(input: Input, connections: string[] = []): Promise<string> {
  const { appendTurn: result } = await new Promise<programAppendTurnMutation['response']>((resolve, reject) =>
    commitMutation<programAppendTurnMutation>(environment, {
      mutation: AppendTurn,
      variables: { input, connections },
      onCompleted: (response, errors) => (errors ? reject(new Error(errors[0]!.message)) : resolve(response)),
      onError: reject,
    }),
  )
  // With a fragment on an interface (UserError), Relay does not generate a union of types: the fields of all members are
  // optional, so check which field is present.
  if (result.turnEdge) {
    const { createdAt, conversation, parts } = result.turnEdge.node
    const texts = parts.map((part) => (part.__typename === 'TextPart' ? part.text.toUpperCase() : part.__typename))
    assert(createdAt.endsWith('Z') && conversation.tokenCount.toFixed() !== '0')
    return texts.join()
  }
  if (result.issues) return result.issues[0]!.path.join('.')
  return `${result.error?.code.toLowerCase()}: ${result.error?.message}`
}

const [newest, , oldest] = await createConversations(3)

await check('a typed union of results, with @oneOf and a default branch', async () => {
  const turn = (parts: Input['turn']['parts']) => ({ conversationId: newest!, turn: { role: 'USER' as const, parts } })
  assert.equal(await append(turn([{ text: 'hello' }, { data: { a: 1 } }])), 'HELLO,DataPart')
  assert.equal(await append(turn([])), 'turn.parts')
  assert.match(await append({ ...turn([{ text: 'hello' }]), conversationId: `conv_${'0'.repeat(26)}` }), /^not_found: /)
  // @ts-expect-error A part has exactly one kind of content.
  await assert.rejects(append(turn([{ text: 'hello', data: 1 }])), /[Ee]xactly one/)
})

const list = await watch<programConversationsQuery>(Conversations, { first: 2 })

await check('pages of conversations and turns, joined by @connection and @refetchable', async () => {
  const { edges, pageInfo } = list().conversations
  assert.equal(edges.length, 2)
  await fetchQuery(environment, Conversations, { first: 2, after: pageInfo.endCursor }).toPromise()
  await until('the second page', () => list().conversations.edges.some(({ node }) => node.title === 'Conversation 1'))

  const transcript = await watch<programConversationQuery>(Conversation, { id: oldest!, first: 2 })
  const turns = watchTurns(transcript().conversation!)
  const texts = () => turns().edges.map(({ node }) => node.text)
  assert.deepEqual(texts(), ['one', 'two'])
  const after = turns().pageInfo.endCursor
  await fetchQuery(environment, programTurnsQuery, { id: oldest!, first: 2, after }).toPromise()
  await until('all turns', () => texts().join() === 'one,two,three')
  const connection = ConnectionHandler.getConnectionID(oldest!, 'conversation_turns')
  await append({ conversationId: oldest!, turn: { role: 'USER', content: 'four' } }, [connection])
  await until('the edge of @appendEdge', () => texts().join() === 'one,two,three,four')
})

const transcript = await watch<programConversationQuery>(Conversation, { id: newest!, first: 2 })
const seqs: number[] = []
const live = requestSubscription<programLiveSubscription>(environment, {
  subscription: Live,
  variables: { conversation: newest!, afterSeq: 0 },
  onNext: (response) => {
    if (response?.conversationEvents.seq) seqs.push(response.conversationEvents.seq)
  },
})

await check('presence, titles and unread counts that update by themselves', async () => {
  const presence = () => transcript().conversation!.participants.nodes.find(({ actor }) => actor === 'bob')?.presence
  const item = () => list().conversations.edges[0]!.node
  await until('the first state', () => presence() === 'ONLINE' && seqs.length >= 5)
  await setPresence('bob', newest!, 'TYPING')
  await until('presence', () => presence() === 'TYPING')
  await rename('bob', newest!, 'Renamed')
  await until('the title', () => transcript().conversation!.title === 'Renamed' && item().title === 'Renamed')
  await say('bob', newest!, 'new')
  await until('the last turn', () => item().lastTurn?.text === 'new' && item().viewerUnreadCount === 4)
})

live.dispose()
await socket.dispose()
