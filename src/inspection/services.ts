// Checks the services that the settings name: Redis, the embedder, the reranker, and the servers of models. A server of models is asked
// for its list of models, which costs nothing.

import { createCleanup } from '../runtime/cleanup.ts'
import { systemClock } from '../runtime/clock.ts'
import type { Config } from '../config/config.ts'
import { openBus } from '../deps.ts'
import { createLog } from '../runtime/log.ts'
import { createEmbedder } from '../providers/registry.ts'
import { createReranking } from '../providers/reranker-registry.ts'
import { checked, CHECK_MS, failure, ok, warning, type Finding } from './finding.ts'

/** Maximum size of a list of models, in bytes. */
const MAX_BYTES = 2 * 1024 * 1024

export async function inspectRedis(config: Config): Promise<readonly Finding[]> {
  if (!config.redisUrl) return [ok('redis', 'not configured: only one process may serve these conversations')]
  const next = 'check REDIS_URL, and that Redis is running'
  return checked('redis', next, async () => {
    const cleanup = createCleanup()
    try {
      const { bus } = await openBus(
        { ...config, rateLimitPoints: 0 },
        { clock: systemClock, log: createLog('silent'), cleanup },
      )
      await bus.ping()
      return [ok('redis', `answers at ${new URL(config.redisUrl!).host}`)]
    } finally {
      // Not awaited, because a Redis that cannot be reached delays it.
      void cleanup.run().catch(() => {})
    }
  })
}

/** Checks the embedder, and returns its name too; null if it cannot be created. */
export async function inspectEmbedder(config: Config): Promise<{ name: string | null; findings: readonly Finding[] }> {
  let name: string | null = null
  const next = 'check EMBEDDER, EMBEDDING_MODEL and the settings of its provider'
  const findings = await checked('embedder', next, async () => {
    const problems: string[] = []
    const log = { warn: (details: { cause?: string }) => void problems.push(details.cause ?? 'it is not ready') }
    const embedder = await createEmbedder(config.embedder, log)
    name = embedder.name
    const { dimension } = embedder
    await embedder.close()
    return problems.length > 0
      ? problems.map((problem) => failure('embedder', `${embedder.name}: ${problem}`, next))
      : [ok('embedder', `${embedder.name}, ${dimension} dimensions`)]
  })
  return { name, findings }
}

/** Checks the reranker; no finding without one. */
export async function inspectReranker({ reranker: settings }: Config): Promise<readonly Finding[]> {
  if (settings.kind === 'off') return []
  const next = 'check RERANKER, RERANK_URL, RERANK_API_KEY and RERANK_MODEL'
  return checked('reranker', next, async () => {
    const problems: string[] = []
    const log = { warn: (details: { cause?: string }) => void problems.push(details.cause ?? 'it is not ready') }
    const { reranker, candidates } = (await createReranking(settings, log))!
    await reranker.close()
    return problems.length > 0
      ? problems.map((problem) => failure('reranker', `${reranker.name}: ${problem}`, next))
      : [ok('reranker', `${reranker.name}, scores ${candidates} hits of a recall`)]
  })
}

type Endpoint = { baseUrl: string; apiKey: string | undefined; users: string[]; models: Set<string> }

/** Returns the servers of models that the settings name, each once. */
function endpointsOf({ chatProviders, summarizer, extractor }: Config): Endpoint[] {
  const named = [
    ...Object.entries(chatProviders).map(([name, settings]) => ({ name: `chat provider ${name}`, settings })),
    { name: 'summarizer', settings: summarizer },
    { name: 'extractor', settings: extractor },
  ]
  const endpoints = new Map<string, Endpoint>()
  for (const { name, settings } of named) {
    if (settings.kind !== 'openai') continue
    const { baseUrl, apiKey, model } = settings
    const id = JSON.stringify([baseUrl, apiKey])
    const endpoint = endpoints.get(id) ?? { baseUrl, apiKey, users: [], models: new Set() }
    endpoint.users.push(name)
    endpoint.models.add(model)
    endpoints.set(id, endpoint)
  }
  return [...endpoints.values()]
}

/** Reads a body of at most MAX_BYTES. Returns null for a longer one. */
async function readText({ body }: Response): Promise<string | null> {
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) return null
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** Returns the names of the models in the list; null for a text of another form. */
function modelsIn(text: string | null): Set<string> | null {
  try {
    const { data } = JSON.parse(text ?? '') as { data: { id: string }[] }
    return new Set(data.map(({ id }) => id))
  } catch {
    return null
  }
}

async function inspectEndpoint({ baseUrl, apiKey, users, models }: Endpoint): Promise<readonly Finding[]> {
  const check = 'models'
  const who = `${baseUrl} (${users.join(', ')})`
  return checked(check, `check the URL of the ${users[0]}, and that the server is running`, async () => {
    const response = await fetch(`${baseUrl}/models`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(CHECK_MS),
    }).catch((error: Error) => {
      throw new Error(`${who}: ${(error.cause as Error | undefined)?.message ?? error.message}`, { cause: error })
    })
    if (response.status === 401 || response.status === 403) {
      return [failure(check, `${who} refuses the key (status ${response.status})`, `check the key of the ${users[0]}`)]
    }
    if (!response.ok) {
      const message = `${who} answers, but not with its models (status ${response.status})`
      return [warning(check, message, 'check that the URL ends before /chat/completions')]
    }
    const listed = modelsIn(await readText(response))
    const missing = listed ? [...models].filter((model) => !listed.has(model)) : []
    if (missing.length === 0) return [ok(check, `${who} answers`)]
    return [warning(check, `${who} does not list ${missing.join(', ')}`, 'check the name of the model')]
  })
}

/** Checks each server of models; one finding if none is configured. */
export async function inspectModels(config: Config): Promise<readonly Finding[]> {
  const endpoints = endpointsOf(config)
  if (endpoints.length === 0) return [ok('models', 'no server of models is configured')]
  return (await Promise.all(endpoints.map(inspectEndpoint))).flat()
}
