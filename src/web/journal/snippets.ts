// Writes a call of the page as code that does the same: TypeScript or curl. A token is never part of the code.

import type { Call } from '../session/calls.ts'
import { jsonOf, literalOf, shellWord, stringLiteral, templateLiteral } from './quote.ts'

type Sent = Pick<Call, 'query' | 'variables' | 'actor'>
type Fields = Record<string, any>

/** Returns the name of the operation, or its first field; and whether it changes anything. */
export function operationOf(query: string): { name: string; isMutation: boolean } {
  const [, kind = 'query', name] = /^\s*(query|mutation|subscription)?\s*(\w+)?/.exec(query) ?? []
  const field = /\{\s*(?:\w+\s*:\s*)?(\w+)/.exec(query)?.[1]
  return { name: name ?? field ?? 'query', isMutation: kind === 'mutation' }
}

/** Returns the call as a command for a shell. `url`: the GraphQL endpoint. */
export function curlOf({ query, variables, actor }: Sent, url: string): string {
  const viewer =
    actor === null ? '-H "authorization: Bearer $TOKEN"' : `-H ${shellWord(`x-actor: ${encodeURIComponent(actor)}`)}`
  const body = jsonOf({ query, variables })
  return [
    `curl ${shellWord(url)}`,
    `-H 'content-type: application/json'`,
    viewer,
    `--data-raw ${shellWord(body)}`,
  ].join(' \\\n  ')
}

/** Returns an argument, preceded by a comma; nothing for an object without fields. */
const optional = (value: Fields): string => {
  const literal = literalOf(value)
  return literal === '{}' ? '' : `, ${literal}`
}

/** The functions of a conversation, by the field that they call: the code of the call with the rest of the input. */
const OF_CONVERSATION: Record<string, (input: Fields) => string> = {
  // The function makes its own clientId: with the one of the page, the server would return the turn of the page.
  appendTurn: ({ turn: { clientId: _, ...turn }, ...rest }) => `append(${literalOf(turn)}${optional(rest)})`,
  buildContext: (input) => `context(${literalOf(input)})`,
  recall: ({ query, ...rest }) => `recall(${stringLiteral(query)}${optional(rest)})`,
  recordFacts: ({ facts, ...rest }) => `remember(${literalOf(facts)}${optional(rest)})`,
  summarize: (input) => `summarize(${optionsOf(input)})`,
  compact: (input) => `compact(${optionsOf(input)})`,
  extractFacts: (input) => `extractFacts(${optionsOf(input)})`,
  updateConversation: (input) => `update(${literalOf(input)})`,
  addParticipant: ({ participant }) => `addParticipant(${literalOf(participant)})`,
  updateParticipant: ({ actor, ...changes }) => `updateParticipant(${stringLiteral(actor)}, ${literalOf(changes)})`,
  removeParticipant: ({ actor }) => `removeParticipant(${stringLiteral(actor)})`,
  markRead: ({ seq }) => `markRead(${literalOf(seq)})`,
  setPresence: ({ state }) => `setPresence(${literalOf(state)})`,
}

/** The functions of the client, in the same form. */
const OF_CLIENT: Record<string, (input: Fields) => string> = {
  recall: ({ query, ...rest }) => `recall(${stringLiteral(query)}${optional(rest)})`,
  retractFact: ({ factId, ...rest }) => `retractFact(${stringLiteral(factId)}${optional(rest)})`,
  eraseTurn: ({ turnId }) => `eraseTurn(${stringLiteral(turnId)})`,
  cancelRun: ({ runId }) => `cancelRun(${stringLiteral(runId)})`,
  refreshUserProfile: ({ userId }) => `refreshProfile(${stringLiteral(userId)})`,
  resolveApproval: ({ approvalId, decision, ...rest }) =>
    `resolveApproval(${stringLiteral(approvalId)}, ${literalOf(decision)}${optional(rest)})`,
}

/** Returns the options of a call; nothing if there are none. */
const optionsOf = (given: Fields): string => optional(given).slice(2)

/** The functions of the client that read, by the start of their documents. `variables`: without the conversation. */
const READS: readonly { document: RegExp; write(variables: Fields): string }[] = [
  ...['read', 'turns', 'participants', 'summaries'].map((name) => ({
    document: new RegExp(
      `^query ${name === 'read' ? 'ReadConversation' : name[0]!.toUpperCase() + name.slice(1)}\\(\\s*`
        + '\\$conversationId: ID, \\$conversationKey: String, ',
    ),
    write: (variables: Fields) => `${name}(${optionsOf(variables)})`,
  })),
  {
    document: /^query FindConversations\(\s*\$filter: ConversationFilter, /,
    write: (variables) => `findConversations(${optionsOf(variables)})`,
  },
  { document: /^query Facts\(\s*\$filter: FactFilter, /, write: (variables) => `facts(${optionsOf(variables)})` },
  {
    document: /^query Profile\(\$userId: String!, /,
    write: ({ userId, ...rest }) => `profile(${stringLiteral(userId)}${optional(rest)})`,
  },
]

/** Fields of an input that its function does not accept, or not in this form. */
const UNMAPPED: Record<string, readonly string[]> = { appendTurn: ['expectedLastSeq'] }

/** Matches the documents of the client's functions with the argument `input`, and none that a page wrote itself. */
const OF_FUNCTION = new RegExp(
  [
    String.raw`^(?:query|mutation) \w+\(\$input: \w+!\) \{`,
    String.raw` {2}(\w+)\(input: \$input\) \{`,
    String.raw` {4}\.{3} on \w+ \{ .* \}`,
    String.raw` {4}\.{3}UserError`,
    String.raw` {2}\}`,
    String.raw`\}$`,
  ].join('\n'),
  'm',
)

/** A call of a function. `conversation`: how the call names it; null for a function of the client itself. */
type Called = { code: string; as: string | undefined; conversation: string | { key: string } | null }

/** Returns how the fields name a conversation; null if they name none. */
const nameOf = ({ conversationId, conversationKey }: Fields): Called['conversation'] =>
  conversationId ?? (conversationKey == null ? null : { key: conversationKey })

/** Returns the function of the client that sends the document with these variables; null if none does exactly so. */
function functionOf({ query, variables }: Sent): Called | null {
  const read = READS.find(({ document }) => document.test(query))
  const field = read ? undefined : OF_FUNCTION.exec(query)?.[1]
  if (!read && field === undefined) return null
  const { as, conversationId, conversationKey, ...input } = (read ? variables : variables.input) as Fields
  const conversation = nameOf({ conversationId, conversationKey })
  const write = read ? read.write : (conversation ? OF_CONVERSATION : OF_CLIENT)[field!]
  if (!write || UNMAPPED[field!]?.some((name) => name in input)) return null
  return { code: write(input), as: as ?? undefined, conversation }
}

/** Returns the call as a program with the package `colloquy-client`. `url`: the GraphQL endpoint. */
export function typescriptOf(call: Sent, url: string): string {
  const { query, variables, actor } = call
  const known = functionOf(call)
  // Without a token, the functions act as the actor of the client only.
  const called = actor !== null && known?.as !== undefined ? null : known
  const viewer =
    actor !== null
      ? `actor: ${stringLiteral(actor)}`
      : `token: process.env.TOKEN!${called?.as === undefined ? '' : `, actor: ${stringLiteral(called.as)}`}`
  const lines = [
    `import { connect } from 'colloquy-client'`,
    '',
    `const client = connect({ url: ${stringLiteral(url)}, ${viewer} })`,
  ]
  if (called?.conversation) {
    lines.push(`const conversation = client.conversation(${literalOf(called.conversation)})`)
    lines.push(`const result = await conversation.${called.code}`)
  } else if (called) lines.push(`const result = await client.${called.code}`)
  else {
    const given = Object.keys(variables).length > 0 ? `, ${literalOf(variables)}` : ''
    lines.push(`const result = await client.request(${templateLiteral(query.trim())}${given})`)
  }
  return `${[...lines, 'console.log(result)', 'await client.close()'].join('\n')}\n`
}

/** Returns the actor in whose name the call was sent. `viewer`: the actor of the token. */
export const actorOf = ({ variables, actor }: Sent, viewer: string): string =>
  (variables.as ?? (variables.input as Fields | undefined)?.as ?? actor ?? viewer) as string

/** Returns the clientId with which the call appends a turn; null if it has none. Sent again, it appends nothing. */
export function clientIdOf({ variables }: Sent): string | null {
  const turn = (variables.input as Fields | undefined)?.turn as Fields | undefined
  return typeof turn?.clientId === 'string' ? turn.clientId : null
}
