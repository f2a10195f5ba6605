// Two agents, of which the first hands a question over to the second by a mention: with the client of the package.

import { connect, type ConnectOptions } from '../../../src/client/index.ts'

export const startBoth = (options: Omit<ConnectOptions, 'actor'>, signal: AbortSignal): Promise<unknown> =>
  Promise.all([
    connect({ ...options, actor: 'planner' }).answer(({ turn }) => `@researcher, ${turn.text.slice(9)}`, { signal }),
    connect({ ...options, actor: 'researcher' }).answer(({ turn }) => `An answer to: ${turn.text}`, { signal }),
  ])
