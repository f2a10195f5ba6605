// The type of an attack, and functions that several attacks use.

import type { PostOptions, Target } from './target.ts'

/** Maximum memory that an attack may use beyond that of the idle server, MB. */
export const ALLOWED_MB = 600

export type Attack = {
  /** Label of a group of attacks, for example "A1". It is printed, and selects the attacks of the group. */
  section: string
  name: string
  /** Environment variables of the attacked server, besides those that name its services. */
  env?: Record<string, string>
  /** Starts the services that the attack needs, before the server starts. Omitted if it needs none. */
  prepare?(): Promise<Prepared>
  /** Attacks the server. Returns the outcome as a short text. Throws if the server did not resist. */
  run(target: Target): Promise<string>
}

/** Environment variables of the server for one attack, and a function that stops the services started by `prepare`. */
export type Prepared = { env: Record<string, string>; close(): Promise<void> }

export const CREATE = `mutation ($input: CreateConversationInput!) {
  createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } ... on UserError { message } }
}`
export const APPEND = `mutation ($input: AppendTurnInput!) {
  appendTurn(input: $input) { ... on AppendTurnPayload { turn { id } } ... on UserError { message } }
}`

export const newConversation = async (target: Target, input: object = {}, options?: PostOptions): Promise<string> =>
  (await target.get<{ conversation: { id: string } }>(CREATE, { input }, options)).conversation.id

/** Appends `count` turns with a little more than `units` UTF-16 units of text each. */
export async function appendTurns(
  target: Target,
  conversationId: string,
  { count, units }: { count: number; units: number },
  options?: PostOptions,
): Promise<void> {
  const content = 'lorem ipsum dolor '.repeat(Math.ceil(units / 18)).slice(0, units)
  for (let n = 0; n < count; n++) {
    await target.get(APPEND, { input: { conversationId, turn: { role: 'USER', content: `${n} ${content}` } } }, options)
  }
}

/** Throws an error with the message if the condition is false. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message)
}

/**
 * Returns the code, or else the message, of the first error in a GraphQL response. Returns null if there is none, and
 * `not JSON: …` for other text.
 */
export function errorOf(body: string): string | null {
  try {
    const { errors } = JSON.parse(body) as { errors?: { message: string; extensions?: { code?: string } }[] }
    return errors?.[0] ? (errors[0].extensions?.code ?? errors[0].message.slice(0, 60)) : null
  } catch {
    return body === '' ? null : `not JSON: ${body.slice(0, 40)}`
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
