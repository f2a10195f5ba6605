// The server of the demo, in the demo's process and on a free port, with the tools of the story.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDeps, createServer, loadConfig, startBackground } from '../../src/index.ts'
import type { Tool } from '../../src/domain/agent/run/tools/tools.ts'

/** Default model if OPENAI_API_KEY is set. */
const MODEL = 'gpt-4.1-mini'

export type Host = {
  /** URL of its GraphQL endpoint. */
  url: string
  /** The provider of the agents: "openai" if a key or a model is set, otherwise "echo". */
  provider: string
  model: string
  close(): Promise<void>
}

/**
 * Starts the server on the database of DATABASE_URL, or on an embedded one that is deleted at the end. `wordMs` is the
 * pause of echo before each word, ms.
 */
export async function startHost(tools: readonly Tool[], wordMs: number): Promise<Host> {
  const { env } = process
  const config = loadConfig({
    LOG_LEVEL: 'error',
    ...(env.OPENAI_API_KEY && { CHAT_MODEL: MODEL }),
    ...Object.fromEntries(Object.entries(env).filter(([, value]) => value)),
    PORT: '0',
    HOST: '127.0.0.1',
    GRAPHIQL: '1',
  })
  const dataDir = config.databaseUrl ? null : await mkdtemp(join(tmpdir(), 'colloquy-demo-'))
  const chatProviders = { ...config.chatProviders, echo: { kind: 'echo' as const, wordMs } }
  const { deps, health, close } = await createDeps({ ...config, dataDir, chatProviders, tools })
  const stopBackground = startBackground(deps)
  const server = createServer(deps, config, health)
  const port = await server.listen()
  const provider = deps.providers.get('openai') ?? deps.providers.get('echo')!
  return {
    url: `http://127.0.0.1:${port}/graphql`,
    provider: provider.name,
    model: provider.defaultModel,
    async close() {
      await server.close()
      await stopBackground()
      await close()
      if (dataDir) await rm(dataDir, { recursive: true })
    },
  }
}
