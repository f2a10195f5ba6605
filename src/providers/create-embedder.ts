// Makes the embedder that the settings name, and tries it once: what the operator must mend stops the start, a provider
// that is away does not. Code that was not chosen is not loaded.

import { CallFailed } from './ports/call-failed.ts'
import { type Embedder } from './ports/embedder.ts'
import type { OpenAiSettings } from './openai/embedder.ts'
import { createStaticEmbedder } from './static/embedder.ts'
import type { TransformersSettings } from './transformers/embedder.ts'

export type EmbedderSettings =
  | { kind: 'static' }
  | ({ kind: 'openai' } & OpenAiSettings)
  | ({ kind: 'transformers' } & TransformersSettings)

type Log = { warn(details: object, message: string): void }

/** As long as a start may be held up by a provider that does not answer. A model that is fetched meanwhile goes on. */
const TRIAL_MS = 3_000

/** @throws CallFailed where nothing can be embedded before somebody changes something: a key, a model, a setting */
export async function createEmbedder(settings: EmbedderSettings, log: Log): Promise<Embedder> {
  if (settings.kind === 'static') return createStaticEmbedder()
  if (settings.kind === 'openai') {
    const { createOpenAiEmbedder } = await import('./openai/embedder.ts')
    const impatient = createOpenAiEmbedder(settings, { timeoutMs: TRIAL_MS, retries: 0, pauseMs: 0 })
    await tryOut(impatient, log).finally(() => impatient.close())
    return createOpenAiEmbedder(settings)
  }
  const { createTransformersEmbedder } = await import('./transformers/embedder.ts')
  const embedder = createTransformersEmbedder(settings)
  await tryOut(embedder, log)
  return embedder
}

/** Embeds a word. Closes the embedder where that cannot succeed. */
async function tryOut(embedder: Embedder, log: Log): Promise<void> {
  try {
    await embedder.embed(['hello'], AbortSignal.timeout(TRIAL_MS + 500))
  } catch (error) {
    const isLate = (error as Error).name === 'TimeoutError'
    if (!isLate && !(error instanceof CallFailed && error.retryable)) {
      await embedder.close()
      throw error
    }
    const cause = isLate ? 'it is not ready yet' : (error as Error).message
    log.warn({ embedder: embedder.name, cause }, 'the embedder does not work now: until it does, turns get no vectors')
  }
}

/**
 * The embedder of that name, of the vectors of before, where these settings suffice to make it; else null. Models are
 * told from names: `static-1`, `openai:MODEL:DIMENSION`, `transformers:MODEL`.
 */
export async function findEmbedder(
  { name, dimension }: { name: string; dimension: number },
  settings: EmbedderSettings,
  log: Log,
): Promise<Embedder | null> {
  const [kind, ...rest] = name.split(':')
  const wanted: EmbedderSettings | null =
    kind === 'transformers'
      ? { kind, model: rest.join(':'), dimension }
      : kind === 'openai' && settings.kind === 'openai'
        ? { ...settings, ...openAiModel(rest, dimension) }
        : name.startsWith('static-')
          ? { kind: 'static' }
          : null
  const found =
    wanted
    && (await createEmbedder(wanted, log).catch((error: unknown) => {
      if (error instanceof CallFailed) return null
      throw error
    }))
  if (!found || (found.name === name && found.dimension === dimension)) return found
  await found.close()
  return null
}

function openAiModel(rest: readonly string[], dimension: number) {
  const model = rest.slice(0, -1).join(':')
  return { model, dimension, shortens: model.startsWith('text-embedding-3-') }
}
