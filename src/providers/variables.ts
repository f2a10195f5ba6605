// The environment variables that several providers share, and what their values mean together: the API of OpenAI's kind,
// and the models of embedders.

import { z } from 'zod'
import { endpoint, model, number } from '../fields.ts'
import type { Problem, Values } from './entry.ts'
import { MOST_DIMENSIONS } from './ports/embedder.ts'

/** Of any server that speaks OpenAI's API. */
export const OPENAI = {
  OPENAI_BASE_URL: endpoint
    .prefault('https://api.openai.com/v1')
    .describe('The API of OpenAI, or one like it: Ollama, vLLM …'),
  OPENAI_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces or line breaks')
    .optional()
    .describe('The key for that API. OpenAI wants one, local servers may not.'),
}

/** OpenAI's own servers need a key. */
export function* keyProblems({ OPENAI_API_KEY, OPENAI_BASE_URL }: Values<typeof OPENAI>): Generator<Problem> {
  if (!OPENAI_API_KEY && new URL(OPENAI_BASE_URL).hostname === 'api.openai.com') {
    yield ['OPENAI_API_KEY', 'OpenAI wants one; for a server of your own set OPENAI_BASE_URL']
  }
}

/** The chat model where none is named. */
const CHAT_MODEL = 'gpt-4.1-mini'

/** The variables, problems and settings of an entry that asks a chat model; `variable` names the model. */
export function chatModel<const Name extends string>(variable: Name, purpose: string, builtIn: string) {
  const field = model.describe(`${purpose} Unset: \`${CHAT_MODEL}\`.`)
  type Env = Values<typeof OPENAI> & Partial<Record<string, unknown>>
  return {
    variables: { ...OPENAI, [variable]: field } as typeof OPENAI & Record<Name, typeof field>,
    *problems(env: Env): Generator<Problem> {
      if (env[variable] === builtIn) {
        const selector = variable.replace('_MODEL', '')
        yield [variable, `names what is built in: set ${selector}=${builtIn} instead`]
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

/** The embedding models where none is named, by provider. */
export const EMBEDDING_MODELS = { openai: 'text-embedding-3-small', transformers: 'Xenova/all-MiniLM-L6-v2' }

/** Components of the vectors of known models, by the last part of their names. */
const DIMENSIONS: Record<string, number> = {
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
  'text-embedding-ada-002': 1536,
  'all-MiniLM-L6-v2': 384,
  'all-MiniLM-L6-v2-ONNX': 384,
}

/** Of an embedder with a choice of models. */
export const EMBEDDING = {
  EMBEDDING_MODEL: model.describe(
    `Unset: \`${EMBEDDING_MODELS.openai}\` or \`${EMBEDDING_MODELS.transformers}\`. The latter may be a directory.`,
  ),
  EMBEDDING_DIMENSIONS: number(1, MOST_DIMENSIONS)
    .optional()
    .describe("Components of the vectors. Needed for models other than those and OpenAI's."),
}

const lastPart = (name: string) => name.split(/[/\\]/).findLast(Boolean) ?? ''

/** Components of a model's vectors; null for one that is not known. */
function dimensionOf(name: string): number | null {
  const key = lastPart(name)
  return Object.hasOwn(DIMENSIONS, key) ? DIMENSIONS[key]! : null
}

/** Whether a model makes vectors of another length on request. */
export const canShorten = (name: string) => lastPart(name).startsWith('text-embedding-3-')

/** The model, and the length of its vectors as far as it is set or known. */
export const embeddingModel = (env: Values<typeof EMBEDDING>, fallback: string) => {
  const name = env.EMBEDDING_MODEL ?? fallback
  return { model: name, dimension: env.EMBEDDING_DIMENSIONS ?? dimensionOf(name)! }
}

export function* embeddingProblems(env: Values<typeof EMBEDDING>, fallback: string): Generator<Problem> {
  const name = env.EMBEDDING_MODEL ?? fallback
  const set = env.EMBEDDING_DIMENSIONS
  const native = dimensionOf(name)
  const shortens = canShorten(name)
  if (native === null && !set) {
    yield ['EMBEDDING_DIMENSIONS', `set it to the length of the vectors that ${JSON.stringify(name)} makes`]
  } else if (native !== null && set && (shortens ? set > native : set !== native)) {
    yield ['EMBEDDING_DIMENSIONS', `${name} makes vectors of ${native}${shortens ? ' at most' : ''}`]
  }
}
