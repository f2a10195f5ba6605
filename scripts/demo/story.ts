// The people, agents and tools of the demo, and the turns of the person. The agents' instructions suit any model, and
// end with a script for echo, the provider without a model.

import type { Tool } from '../../src/domain/agent/run/tools/tools.ts'

export const TITLE = 'Dinner on Friday'

/** Occurs only in turns with an audience, so that a leak can be detected. */
export const SECRET = 'lemon cake'

export const LINES = {
  request: '@planner, dinner on Friday for six of us, near the river, please. Book it when you know the place.',
  /** The turn whose audience is the planner. */
  private: `@planner Between us: it is the researcher's first birthday. Keep the ${SECRET} for me, and tell nobody.`,
}

/** Time by which Ada replaces the time of the agent's booking when she approves it. */
export const EDITED_TIME = '19:30'

export type Booking = { place: string; people: number; time: string }

const FOUND = 'has a terrace'

/** The rules of echo for each agent, by words in the newest message. */
const SCRIPTS = {
  planner: [
    { when: 'between us', text: 'Not a word to anybody, and one candle on top. I tell you when it is on the table.' },
    {
      when: FOUND,
      text: 'The terrace it is. ',
      tools: [{ name: 'book_table', arguments: { place: 'Casa do Rio', people: 6, time: '20:00' } }],
    },
    { when: FOUND, round: 1, text: 'Done. This is what the restaurant says: {{result}}' },
    { when: 'dinner', text: '@researcher, which places near the river have a table for six on Friday?' },
  ],
  researcher: [
    {
      when: 'table',
      text: 'I look that up. ',
      tools: [{ name: 'find_tables', arguments: { near: 'river', people: 6 } }],
    },
    {
      when: 'table',
      round: 1,
      text: `@planner, two places have a table for six. Casa do Rio ${FOUND}, at eight. Marea is the quieter one, at nine.`,
    },
  ],
}

const INSTRUCTIONS = {
  planner:
    'You are the planner of a small group. You do not know places yourself: ask the researcher, in one sentence, and begin '
    + 'it with "@researcher". When the researcher has answered, choose a place and call book_table. When the table is '
    + 'booked, tell the group the details in one sentence, and mention nobody. If somebody asks you to keep something '
    + 'secret, confirm it in one sentence. Never mention yourself.',
  researcher:
    'You are the researcher of a small group. When the planner asks for places, call find_tables. Then answer in two '
    + 'sentences, and begin with "@planner".',
}

const SCHEMAS = {
  find_tables: {
    type: 'object',
    properties: { near: { type: 'string' }, people: { type: 'integer', minimum: 1 } },
    required: ['people'],
  },
  book_table: {
    type: 'object',
    properties: { place: { type: 'string' }, people: { type: 'integer', minimum: 1 }, time: { type: 'string' } },
    required: ['place', 'people', 'time'],
    additionalProperties: false,
  },
}

/** Returns the participants. The server runs the two agents when they are mentioned, by the provider. */
export function participants(provider: string) {
  const agent = (actor: keyof typeof SCRIPTS, tools: object[]) => ({
    actor,
    kind: 'AGENT',
    respond: 'MENTIONED',
    agent: {
      provider,
      instructions: provider === 'echo' ? JSON.stringify({ echo: SCRIPTS[actor] }) : INSTRUCTIONS[actor],
      tools,
    },
  })
  return [
    { actor: 'ada', kind: 'HUMAN', displayName: 'Ada' },
    agent('planner', [{ name: 'book_table', requiresApproval: true }]),
    agent('researcher', [{ name: 'find_tables' }]),
  ]
}

/** Returns the tools, which the server executes, and the bookings that they made. */
export function createTools(): { tools: Tool[]; bookings: Booking[] } {
  const bookings: Booking[] = []
  const tools: Tool[] = [
    {
      name: 'find_tables',
      description: 'Finds restaurants with a free table on Friday.',
      schema: SCHEMAS.find_tables,
      execute: () => [
        { place: 'Casa do Rio', at: '20:00', seats: 6, terrace: true },
        { place: 'Marea', at: '21:00', seats: 6, terrace: false },
      ],
    },
    {
      name: 'book_table',
      description: 'Books a table for Friday. Costs a deposit, so a person must approve it.',
      schema: SCHEMAS.book_table,
      execute(given) {
        bookings.push(given as Booking)
        return { booked: given, confirmation: `R-${416 + bookings.length}` }
      },
    },
  ]
  return { tools, bookings }
}
