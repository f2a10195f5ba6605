// Creates the conversations and the requests of the HTTP benchmarks.

import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import { openDeps } from './services.ts'
import { sql } from '../../test/support/sql.ts'

const CONVERSATIONS = 50
export const TURNS = 400
/**
 * Turns appended to a conversation per call: few, so that the turns of the conversations are interleaved on disk, as in
 * production.
 */
const BATCH = 8

const viewer = { tenant: 'default', actor: 'ada' }

const NODE = 'edges { node { id seq actor role text createdAt } }'
export const APPEND = `mutation Append($conversationId: ID!, $text: String!) {
  appendTurn(input: { conversationId: $conversationId, turn: { role: USER, content: $text } }) { ... on AppendTurnPayload { turn { id seq } } }
}`
export const PAGE = `query Page($conversationId: ID!) { conversation(id: $conversationId) { turns(last: 50) { ${NODE} } } }`
export const LIST = `query List { conversations(first: ${CONVERSATIONS}) { edges { node { id title turns(last: 20) { ${NODE} } } } } }`

const WORDS =
  'the launch moves to a later day because its review was not done and nobody had read what billing wants'.split(' ')

/** A text of about 200 characters, different for each number. */
export const textOf = (number: number) =>
  Array.from({ length: 40 }, (_, index) => WORDS[(number * 7 + index * (1 + (number % 5))) % WORDS.length]).join(' ')

/** Without background work, except embedding: the other servers do none. */
const PLAIN = { compaction: { strategy: 'NEVER' as const }, automaticTitle: false }

/** Creates empty conversations. Returns their ids. */
export async function createConversations(databaseUrl: string, redisUrl: string, count: number): Promise<string[]> {
  const { deps, close } = await openDeps(databaseUrl, redisUrl)
  try {
    const ids: string[] = []
    for (let index = 0; index < count; index++) {
      ids.push((await createConversation(deps, viewer, { participants: [{ actor: 'ada' }], ...PLAIN })).conversation.id)
    }
    return ids
  } finally {
    await close()
  }
}

/** Fills an empty database. Returns the ids of the conversations to read, and of `written` empty ones to append to. */
export async function fill(
  databaseUrl: string,
  redisUrl: string,
  written: number,
): Promise<{ read: string[]; written: string[] }> {
  const ids = { read: [] as string[], written: await createConversations(databaseUrl, redisUrl, written) }
  const { deps, close } = await openDeps(databaseUrl, redisUrl)
  try {
    for (let index = 0; index < CONVERSATIONS; index++) {
      const participants = [{ actor: 'ada' }, { actor: 'scout', kind: 'AGENT' as const }]
      ids.read.push(
        (await createConversation(deps, viewer, { title: `Conversation ${index}`, participants, ...PLAIN }))
          .conversation.id,
      )
    }
    for (let from = 0; from < TURNS; from += BATCH) {
      await Promise.all(
        ids.read.map((conversationId, position) =>
          appendTurns(deps, viewer, {
            conversationId,
            turns: Array.from({ length: BATCH }, (_, index) => ({
              ...(index % 2 ? { actor: 'scout', role: 'ASSISTANT' as const } : { actor: 'ada', role: 'USER' as const }),
              content: textOf(position * TURNS + from + index),
            })),
          }),
        ),
      )
    }
    await sql(deps.pool).query('VACUUM ANALYZE')
    return ids
  } finally {
    await close()
  }
}

/** Request bodies for one path, sent in rotation. */
export type Requests = { path: string; bodies: string[] }

/** Requests to /graphql, one for each set of variables. */
export const graphql = (query: string, variables: object[]): Requests => ({
  path: '/graphql',
  bodies: variables.map((each) => JSON.stringify({ query, variables: each })),
})
