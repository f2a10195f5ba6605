// The environment variables that several providers share, with the checks of their combinations: the variables for
// OpenAI-compatible APIs and for embedding models.

import { z } from 'zod'
import { endpoint, model, number } from '../runtime/fields.ts'
import type { Problem, Values } from './entry.ts'
import { MAX_DIMENSIONS } from './ports/embedder.ts'

/** The key of an API. */
export const key = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces or line breaks')
  .optional()

/** Variables of any OpenAI-compatible API. */
export const OPENAI = {
  OPENAI_BASE_URL: endpoint
    .prefault('https://api.openai.com/v1')
    .describe('Base URL of an OpenAI-compatible API: OpenAI, Ollama, vLLM …'),
  OPENAI_API_KEY: key.describe('Key for that API. OpenAI requires one; local servers may not.'),
}

/** Reports a missing key if the URL is OpenAI's own, because other servers may not require a key. */
export function* keyProblems({ OPENAI_API_KEY, OPENAI_BASE_URL }: Values<typeof OPENAI>): Generator<Problem> {
  if (!OPENAI_API_KEY && new URL(OPENAI_BASE_URL).hostname === 'api.openai.com') {
    yield ['OPENAI_API_KEY', 'is required by OpenAI; for another server set OPENAI_BASE_URL']
  }
}

/** The default chat model. */
const CHAT_MODEL = 'gpt-4.1-mini'

/**
 * The variables, problems and settings of an entry that uses a chat model. `variable` selects the model; `builtIn` is
 * the name of the built-in provider, which operators may mistake for a model.
 */
export function chatModel<const Name extends string>(variable: Name, purpose: string, builtIn: string) {
  const field = model.describe(`${purpose} Unset: \`${CHAT_MODEL}\`.`)
  type Env = Values<typeof OPENAI> & Partial<Record<string, unknown>>
  return {
    variables: { ...OPENAI, [variable]: field } as typeof OPENAI & Record<Name, typeof field>,
    *problems(env: Env): Generator<Problem> {
      if (env[variable] === builtIn) {
        const selector = variable.replace('_MODEL', '')
        yield [variable, `is the built-in provider, not a model: set ${selector}=${builtIn} instead`]
      } else {
        yield* keyProblems(env)
      }
    },
    settings: (env: Env) => ({
      kind: 'openai' as const,
      baseUrl: env.OPENAI_BASE_URL,
      apiKey: env.OPENAI_API_KEY,
      model: (env[variable] as string | undefined) ?? CHAT_MODEL,
    }),
  }
}

/** The default embedding models, by provider. */
export const EMBEDDING_MODELS = { openai: 'text-embedding-3-small', transformers: 'Xenova/all-MiniLM-L6-v2' }

/** Vector dimensions of known models, by the last part of the model's name. */
const DIMENSIONS: Record<string, number> = {
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
  'text-embedding-ada-002': 1536,
  'all-MiniLM-L6-v2': 384,
  'all-MiniLM-L6-v2-ONNX': 384,
}

/** Variables of a provider that offers several embedding models. */
export const EMBEDDING = {
  EMBEDDING_MODEL: model.describe(
    `Embedding model. Unset: \`${EMBEDDING_MODELS.openai}\` with \`openai\`, \`${EMBEDDING_MODELS.transformers}\` with `
      + '`transformers`. With `transformers`, it may be a directory.',
  ),
  EMBEDDING_DIMENSIONS: number(1, MAX_DIMENSIONS)
    .optional()
    .describe("Dimension of the vectors. Required for models other than the two defaults and OpenAI's models."),
  EMBEDDING_REVISION: number(1, 999_999)
    .optional()
    .describe(
      'Revision of the embedding model. Raise it after the model has changed under the same name: all turns and facts are '
        + 'embedded again. Unset: 1.',
    ),
}

const lastPart = (name: string) => name.split(/[/\\]/).findLast(Boolean) ?? ''

/** Returns the vector dimension of a model; null if unknown. */
function dimensionOf(name: string): number | null {
  const key = lastPart(name)
  return Object.hasOwn(DIMENSIONS, key) ? DIMENSIONS[key]! : null
}

/** Whether a model returns shorter vectors on request. */
export const canShorten = (name: string) => lastPart(name).startsWith('text-embedding-3-')

/**
 * Returns the model, its revision, and its dimension: EMBEDDING_DIMENSIONS, or else the known one. For a model with neither,
 * `embeddingProblems` reports a problem.
 */
export const embeddingModel = (env: Values<typeof EMBEDDING>, fallback: string) => {
  const name = env.EMBEDDING_MODEL ?? fallback
  return { model: name, dimension: env.EMBEDDING_DIMENSIONS ?? dimensionOf(name)!, revision: env.EMBEDDING_REVISION }
}

/** Reports a missing dimension, or a dimension that the model cannot return. `fallback` is the default model. */
export function* embeddingProblems(env: Values<typeof EMBEDDING>, fallback: string): Generator<Problem> {
  const name = env.EMBEDDING_MODEL ?? fallback
  const set = env.EMBEDDING_DIMENSIONS
  const native = dimensionOf(name)
  const acceptsShorter = canShorten(name)
  if (native === null && !set) {
    yield ['EMBEDDING_DIMENSIONS', `set it to the dimension of the vectors of ${JSON.stringify(name)}`]
  } else if (native !== null && set && (acceptsShorter ? set > native : set !== native)) {
    yield [
      'EMBEDDING_DIMENSIONS',
      `the vectors of ${name} have ${acceptsShorter ? 'at most ' : ''}${native} components`,
    ]
  }
}
