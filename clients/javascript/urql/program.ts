// urql and Graphcache with documents typed by gql.tada: a union of results, pages, and a cache that a subscription
// updates.

import assert from 'node:assert/strict'
import { initGraphQLTada, type VariablesOf } from 'gql.tada'
import { check, createConversations, rename, say, setPresence, until } from '../live.ts'
import type { introspection } from '../generated/recipes/graphql-env.ts'
import { socket } from '../generated/recipes/socket.ts'
import { client } from '../generated/recipes/urql.ts'

const graphql = initGraphQLTada<{
  introspection: typeof introspection
  scalars: { DateTime: string; JSON: unknown; BigInt: number }
}>()

const AppendTurn = graphql(`
  mutation AppendTurn($input: AppendTurnInput!) {
    appendTurn(input: $input) {
      __typename
      ... on AppendTurnPayload {
        turn {
          id
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
      ... on InvalidInput {
        issues {
          path
          message
        }
      }
      ... on UserError {
        code
        message
      }
    }
  }
`)

const Conversations = graphql(`
  query Conversations($first: Int!, $after: String) {
    conversations(first: $first, after: $after) {
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
`)

const Conversation = graphql(`
  query Conversation($id: ID!, $first: Int!, $after: String) {
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
      turns(first: $first, after: $after) {
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
  }
`)

const Live = graphql(`
  subscription Live($conversation: ID!, $afterSeq: Int) {
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
`)

type Input = VariablesOf<typeof AppendTurn>['input']

/** Appends a turn. Returns a description of the turn or the error. The default branch handles errors added later. */
async function append(input: Input): Promise<string> {
  const { data, error } = await client.mutation(AppendTurn, { input })
  if (!data) throw error
  const result = data.appendTurn
  switch (result.__typename) {
    case 'AppendTurnPayload': {
      const { createdAt, conversation, parts } = result.turn
      const texts = parts.map((part) => (part.__typename === 'TextPart' ? part.text.toUpperCase() : part.__typename))
      assert(createdAt.endsWith('Z') && conversation.tokenCount.toFixed() !== '0')
      return texts.join()
    }
    case 'InvalidInput':
      return result.issues[0]!.path.join('.')
    default:
      return `${result.code.toLowerCase()}: ${result.message}`
  }
}

const [newest, , oldest] = await createConversations(3)

await check('a typed union of results, with @oneOf and a default branch', async () => {
  const turn = (parts: NonNullable<Input['turn']['parts']>) => ({
    conversationId: newest!,
    turn: { role: 'USER' as const, parts },
  })
  assert.equal(await append(turn([{ text: 'hello' }, { data: { a: 1 } }])), 'HELLO,DataPart')
  assert.equal(await append(turn([])), 'turn.parts')
  assert.match(await append({ ...turn([{ text: 'hello' }]), conversationId: `conv_${'0'.repeat(26)}` }), /^not_found: /)
  // @ts-expect-error A part has exactly one kind of content. (gql.tada accepts two kinds.)
  await assert.rejects(append(turn([{}])), /[Ee]xactly one/)
})

await check('pages of conversations and turns, joined by relayPagination', async () => {
  const first = await client.query(Conversations, { first: 2 })
  const after = first.data!.conversations.pageInfo.endCursor
  const { data } = await client.query(Conversations, { first: 2, after })
  assert(data!.conversations.edges.length > 2)
  assert(data!.conversations.edges.some(({ node }) => node.title === 'Conversation 1'))

  const turns = await client.query(Conversation, { id: oldest!, first: 2 })
  const end = turns.data!.conversation!.turns.pageInfo.endCursor
  const all = await client.query(Conversation, { id: oldest!, first: 2, after: end })
  assert.deepEqual(
    all.data!.conversation!.turns.edges.map(({ node }) => node.text),
    ['one', 'two', 'three'],
  )
})

let [presence, title, item]: (string | null | undefined)[] = []
client.query(Conversation, { id: newest!, first: 2 }).subscribe(({ data }) => {
  presence = data?.conversation?.participants.nodes.find(({ actor }) => actor === 'bob')?.presence
  title = data?.conversation?.title
})
client.query(Conversations, { first: 2 }).subscribe(({ data }) => {
  const node = data?.conversations.edges[0]?.node
  item = `${node?.title}: ${node?.lastTurn?.text} (${node?.viewerUnreadCount} unread)`
})
const seqs: number[] = []
const live = client.subscription(Live, { conversation: newest!, afterSeq: 0 }).subscribe(({ data }) => {
  if (data?.conversationEvents.seq) seqs.push(data.conversationEvents.seq)
})

await check('presence, titles and unread counts that update by themselves', async () => {
  await until('the first state', () => presence === 'ONLINE' && seqs.length >= 5)
  await setPresence('bob', newest!, 'TYPING')
  await until('presence', () => presence === 'TYPING')
  await rename('bob', newest!, 'Renamed')
  await until('the title', () => title === 'Renamed' && !!item?.startsWith('Renamed'))
  await say('bob', newest!, 'new')
  await until('the last turn', () => item === 'Renamed: new (4 unread)')
})

live.unsubscribe()
await socket.dispose()
