// Two agents with a bare client of graphql-ws: the first mentions the second to hand a question over.

import { startAgent } from './agent.graphql-ws.ts'
import type { Options } from './connection.graphql-ws.ts'

async function* once(text: string): AsyncGenerator<string> {
  yield text
}

export const startBoth = (options: Omit<Options, 'actor'>, signal: AbortSignal): Promise<unknown> =>
  Promise.all([
    startAgent({ ...options, actor: 'planner' }, (text) => once(`@researcher, ${text.slice(9)}`), signal),
    startAgent({ ...options, actor: 'researcher' }, (text) => once(`An answer to: ${text}`), signal),
  ])
