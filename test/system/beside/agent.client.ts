// An agent that answers when it is mentioned, with the client of the package.

import { connect, type ConnectOptions } from '../../../src/client/index.ts'

export type Model = (prompt: string, signal: AbortSignal) => AsyncIterable<string>

export const startAgent = (options: ConnectOptions, model: Model, signal: AbortSignal): Promise<void> =>
  connect(options).answer(({ turn, signal: lost }) => model(turn.text, lost), { signal })
