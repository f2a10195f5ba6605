// Builds the context of the settings. The client's function `context` cannot name the participant that answers, on a
// server without authentication, nor return the budget that is required.

import type { Client, Context, MessageFormat } from '../../client/index.ts'
import { payloadOf } from '../../client/transport/errors.ts'
import { call, USER_ERROR } from '../kit/result.ts'
import { inputOf, type Settings } from './settings.ts'

/** A context with the settings that led to it. */
export type Built = { settings: Settings; context: Context }
/** The budget does not suffice; `required` is the least one that does. */
type TooSmall = { settings: Settings; required: number }

const BUILD = `query BuildContext($input: BuildContextInput!) {
  buildContext(input: $input) {
    ... on Context {
      messages {
        role name content tokenCount sourceIds
        parts {
          __typename
          ... on TextPart { text }
          ... on ReasoningPart { reasoning signature }
          ... on ToolCallPart { callId name arguments }
          ... on ToolResultPart { callId callTurnId name result }
          ... on FilePart { url mediaType fileName caption }
          ... on SourcePart { url title }
          ... on DataPart { data }
        }
      }
      items { kind included reason tokenCount sourceIds }
      tokenCount tokenBudget truncated stablePrefixTokens id createdAt asOfSeq goneSourceIds
    }
    ${USER_ERROR}
  }
}`

const RENDER = `query RenderContext($input: BuildContextInput!, $format: MessageFormat!) {
  buildContext(input: $input) { ... on Context { rendered(format: $format) } ${USER_ERROR} }
}`

/** The participant is named even if it is the viewer: otherwise, each turn would keep its role. */
const inputFor = (conversationId: string, settings: Settings) => ({
  ...inputOf(settings),
  conversationId,
  as: settings.actor,
})

type Result = Context | (Omit<TooSmall, 'settings'> & { code: string })

/** @param client client of the participant for whom the context is built. @throws ColloquyError */
export async function readContext(
  client: Client,
  conversationId: string,
  settings: Settings,
  signal: AbortSignal,
): Promise<Built | TooSmall> {
  const variables = { input: inputFor(conversationId, settings) }
  const { buildContext } = await client.request<{ buildContext: Result }>(BUILD, variables, { signal })
  if ('required' in buildContext) return { settings, required: buildContext.required }
  return { settings, context: payloadOf(buildContext) }
}

/** Returns the messages in the format of a provider. @throws ColloquyError */
export async function renderContext(
  client: Client,
  conversationId: string,
  settings: Settings,
  { format, signal }: { format: MessageFormat; signal: AbortSignal },
): Promise<unknown> {
  const input = inputFor(conversationId, settings)
  const operation = { document: RENDER, input, variables: { format } }
  return (await call<{ rendered: unknown }>(client, operation, { signal })).rendered
}
