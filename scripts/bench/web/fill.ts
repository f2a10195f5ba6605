// Conversations for the measurements of the web app: people and agents who write texts of 20 to 60 words.

import { connect, type Client } from '../../../src/client/index.ts'
import type { ServerProcess } from '../process.ts'

/** Turns of one call. */
const BATCH = 500
/** Time between two turns, ms. */
const PACE_MS = 90_000
const PEOPLE = ['ada', 'bob', 'cleo', 'dan']
export const AGENTS = ['fern', 'moss']
const AUTHORS = [...PEOPLE, ...AGENTS]
const WORDS = (
  'the a we of to and in on with for this that plan garden harbour river light glass stone winter paper bridge market '
  + 'model answer question number measure reader writer table window early late quiet open large small first second '
  + 'brings holds moves takes keeps writes reads asks shows needs changes builds tests finds makes likely'
).split(' ')

/** State of Park and Miller's random number generator. Every run draws the same numbers. */
let state = 20_261_130
const below = (limit: number) => (state = (state * 48_271) % 2_147_483_647) % limit
const word = () => WORDS[below(WORDS.length)]!

/** Returns a text of 20 to 60 words. Some have emphasis, code or a list, as the answers of models have. */
export function textOf(): string {
  const words = Array.from({ length: 20 + below(41) }, (_, index) => (index % 12 === 11 ? `${word()}.` : word()))
  const kind = below(10)
  if (kind === 0) words[3] = `**${words[3]}**`
  if (kind === 1) words[5] = `\`${words[5]}\``
  const text = words.join(' ')
  return kind === 2 ? `${text}\n\n- ${word()} ${word()}\n- ${word()} ${word()}` : text
}

const APPEND = `mutation Fill($input: AppendTurnsInput!) {
  appendTurns(input: $input) { __typename ... on AppendTurnsPayload { turns { position } } ... on UserError { message } }
}`

export const clientOf = ({ port }: Pick<ServerProcess, 'port'>, actor: string): Client =>
  connect({ url: `http://127.0.0.1:${port}/graphql`, actor, webSocket: null })

/** A conversation, with the positions of its oldest and its newest turn. */
export type Filled = { id: string; turns: number; oldest: number; newest: number }

/** Creates a conversation of that many turns. */
export async function conversationOf(client: Client, turns: number): Promise<Filled> {
  const { id } = await client.createConversation({
    title: `${turns} turns`,
    participants: AUTHORS.map((actor) => ({ actor, kind: AGENTS.includes(actor) ? 'AGENT' : 'HUMAN' })),
  })
  let [oldest, newest] = [0, 0]
  const begin = Date.now() - turns * PACE_MS
  for (let first = 0; first < turns; first += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, turns - first) }, (_, index) => {
      const actor = AUTHORS[below(AUTHORS.length)]!
      return {
        actor,
        role: AGENTS.includes(actor) ? 'ASSISTANT' : 'USER',
        content: textOf(),
        createdAt: new Date(begin + (first + index) * PACE_MS).toISOString(),
      }
    })
    const { appendTurns } = await client.request(APPEND, { input: { conversationId: id, turns: batch } })
    if (appendTurns.message) throw new Error(appendTurns.message)
    oldest ||= appendTurns.turns[0].position
    newest = appendTurns.turns.at(-1).position
  }
  return { id, turns, oldest, newest }
}
