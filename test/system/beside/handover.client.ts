// Two agents with the client of the package: the first mentions the second to hand a question over.

import { connect, type ConnectOptions } from '../../../src/client/index.ts'

export const startBoth = (options: Omit<ConnectOptions, 'actor'>, signal: AbortSignal): Promise<unknown> =>
  Promise.all([
    connect({ ...options, actor: 'planner' }).answer(({ turn }) => `@researcher, ${turn.text.slice(9)}`, { signal }),
    connect({ ...options, actor: 'researcher' }).answer(({ turn }) => `An answer to: ${turn.text}`, { signal }),
  ])
