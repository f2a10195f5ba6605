// The script of the sample conversation: two agents of the provider echo plan a dinner with a person.

import type { ParticipantInput } from '../../client/index.ts'

/** Pause of echo before each word, ms. */
const WORD_MS = 45
export const TITLE = 'Dinner on Friday'

/** What the person says. */
export const LINES = {
  private: '@planner Between us: Friday is the researcher’s first birthday. Keep a lemon cake for me, and tell nobody.',
  request: '@planner, dinner on Friday for six of us, near the river, please. Book it when you know the place.',
}

const FOUND = 'has a terrace'
const rules = (list: object[]) =>
  JSON.stringify({ echo: [...list, { text: '{{answer}}' }].map((rule) => ({ wordMs: WORD_MS, ...rule })) })

const SCRIPTS = {
  planner: rules([
    { when: 'between us', text: 'Not a word to anybody, and one candle on top. I tell you when it is on the table.' },
    {
      when: FOUND,
      text: 'The terrace it is. ',
      tools: [{ name: 'book_table', arguments: { place: 'Casa do Rio', people: 6, time: '20:00' } }],
    },
    { when: FOUND, round: 1, text: 'Done. This is what the restaurant says: {{result}}' },
    { when: 'dinner', text: '@researcher, which places near the river have a table for six on Friday?' },
  ]),
  researcher: rules([
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
  ]),
}

/** The tools of the agents. They book nothing. */
export const TOOLS = {
  find_tables: {
    description: 'Finds restaurants with a free table on Friday.',
    run: () => [
      { place: 'Casa do Rio', at: '20:00', seats: 6, terrace: true },
      { place: 'Marea', at: '21:00', seats: 6, terrace: false },
    ],
  },
  book_table: {
    description: 'Books a table for Friday. Costs a deposit, so a person must approve it.',
    requiresApproval: true,
    run: (given: unknown) => ({ booked: given, confirmation: 'R-417' }),
  },
}
type ToolName = keyof typeof TOOLS
export const isTool = (name: string): name is ToolName => name in TOOLS

const agent = (actor: keyof typeof SCRIPTS, displayName: string, tool: ToolName): ParticipantInput => {
  const { description, ...options } = TOOLS[tool]
  const requiresApproval = 'requiresApproval' in options
  return {
    actor,
    displayName,
    kind: 'AGENT',
    respond: 'MENTIONED',
    agent: { provider: 'echo', instructions: SCRIPTS[actor], tools: [{ name: tool, description, requiresApproval }] },
  }
}

export const agents = (): ParticipantInput[] => [
  agent('planner', 'Planner', 'book_table'),
  agent('researcher', 'Researcher', 'find_tables'),
]

/** Metadata of the sample conversation, by which a page recognises it. */
export const SAMPLE = { sample: 'dinner' }
export const isSample = (metadata: { sample?: unknown } | null): boolean => metadata?.sample === SAMPLE.sample
