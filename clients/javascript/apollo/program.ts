// Apollo Client with documents typed by graphql-codegen: a union of results, pages, and a cache that a subscription
// updates.

import assert from 'node:assert/strict'
import { check, createConversations, rename, say, setPresence, until } from '../live.ts'
import { graphql } from '../generated/apollo/gql.ts'
import type { AppendTurnInput } from '../generated/apollo/graphql.ts'
import { client } from '../generated/recipes/apollo.ts'
import { socket } from '../generated/recipes/socket.ts'

const AppendTurn = graphql(`
  mutation AppendTurn($input: AppendTurnInput!) {
    appendTurn(input: $input) {
      __typename
      ... on AppendTurnPayload {
        turn {
          id
          createdAt
          metadata
          parts {
            __typename
            ... on TextPart {
              text
            }
            ... on DataPart {
              data
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

/** Appends a turn. Returns a description of the turn or the error. The default branch handles errors added later. */
async function append(input: AppendTurnInput): Promise<string> {
  const { data } = await client.mutate({ mutation: AppendTurn, variables: { input } })
  const result = data!.appendTurn
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
  const turn = (parts: AppendTurnInput['turn']['parts']) => ({
    conversationId: newest!,
    turn: { role: 'USER' as const, parts },
  })
  assert.equal(await append(turn([{ text: 'hello' }, { data: { a: 1 } }])), 'HELLO,DataPart')
  assert.equal(await append(turn([])), 'turn.parts')
  assert.match(await append({ ...turn([{ text: 'hello' }]), conversationId: `conv_${'0'.repeat(26)}` }), /^not_found: /)
  // @ts-expect-error A part has exactly one kind of content.
  await assert.rejects(append(turn([{ text: 'hello', data: 1 }])), /[Ee]xactly one/)
})

let list: { title?: string | null; text?: string; unread: number }[] = []
const conversations = client.watchQuery({ query: Conversations, variables: { first: 2 } })
conversations.subscribe(({ data, dataState }) => {
  if (dataState !== 'complete') return
  list = data.conversations.edges.map(({ node }) => ({
    title: node.title,
    text: node.lastTurn?.text,
    unread: node.viewerUnreadCount,
  }))
})

await check('pages of conversations and turns, joined by relayStylePagination', async () => {
  await until('the first page', () => list.length === 2)
  const { data } = conversations.getCurrentResult()
  const after = data?.conversations?.pageInfo?.endCursor
  await conversations.fetchMore({ variables: { after } })
  await until('the second page', () => list.some(({ title }) => title === 'Conversation 1'))

  const transcript = client.watchQuery({ query: Conversation, variables: { id: oldest!, first: 2 } })
  const texts = () => transcript.getCurrentResult().data?.conversation?.turns?.edges?.map((edge) => edge?.node?.text)
  transcript.subscribe(() => {})
  await until('the first turns', () => texts()?.length === 2)
  const end = transcript.getCurrentResult().data?.conversation?.turns?.pageInfo?.endCursor
  await transcript.fetchMore({ variables: { after: end } })
  await until('all turns', () => texts()?.join() === 'one,two,three')
})

const transcript = client.watchQuery({ query: Conversation, variables: { id: newest!, first: 2 } })
let presence: string | undefined
let title: string | null | undefined
transcript.subscribe(({ data, dataState }) => {
  if (dataState !== 'complete' || !data.conversation) return
  presence = data.conversation.participants.nodes.find(({ actor }) => actor === 'bob')?.presence
  title = data.conversation.title
})
const seqs: number[] = []
const live = client.subscribe({ query: Live, variables: { conversation: newest!, afterSeq: 0 } }).subscribe({
  next: ({ data }) => {
    if (data?.conversationEvents.seq) seqs.push(data.conversationEvents.seq)
  },
})

await check('presence, titles and unread counts that update by themselves', async () => {
  await until('the first state', () => presence === 'ONLINE' && seqs.length >= 5)
  await setPresence('bob', newest!, 'TYPING')
  await until('presence', () => presence === 'TYPING')
  await rename('bob', newest!, 'Renamed')
  await until('the title', () => title === 'Renamed' && list[0]?.title === 'Renamed')
  await say('bob', newest!, 'new')
  await until('the last turn', () => list[0]?.text === 'new' && list[0].unread === 4)
})

live.unsubscribe()
await socket.dispose()
client.stop()
