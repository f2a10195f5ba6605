// The settings of what finds turns by meaning, and of the API that it, the summarizer and the extractor may use.

import { z } from 'zod'
import { endpoint, model, number, oneOf } from './fields.ts'

/** The models taken where none is named. */
const DEFAULT_MODELS = { openai: 'text-embedding-3-small', transformers: 'Xenova/all-MiniLM-L6-v2' }

/** Components of the vectors of the models we know, by the last part of their names. */
const DIMENSIONS: Record<string, number> = {
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
  'text-embedding-ada-002': 1536,
  'all-MiniLM-L6-v2': 384,
  'all-MiniLM-L6-v2-ONNX': 384,
}
/** pgvector's HNSW index of half-precision vectors takes no more. */
const MOST_DIMENSIONS = 4000

/** The API of OpenAI's kind that embedder, summarizer and extractor share. */
export const openAiVariables = {
  OPENAI_BASE_URL: endpoint
    .prefault('https://api.openai.com/v1')
    .describe('The API of OpenAI, or one like it: Ollama, vLLM …'),
  OPENAI_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces or line breaks')
    .optional()
    .describe('The key for that API. OpenAI wants one, local servers may not.'),
}

const api = z.object(openAiVariables)

/** OpenAI's own servers answer nobody without a key. */
export const lacksKey = ({ OPENAI_API_KEY, OPENAI_BASE_URL }: z.output<typeof api>) =>
  !OPENAI_API_KEY && new URL(OPENAI_BASE_URL).hostname === 'api.openai.com'
export const KEY_WANTED = 'OpenAI wants one; for a server of your own set OPENAI_BASE_URL'

export const embedderVariables = {
  EMBEDDER: oneOf('static', 'openai', 'transformers')
    .prefault('static')
    .describe('What finds turns by meaning: `static` (built in), `openai` or `transformers`.'),
  ...openAiVariables,
  EMBEDDING_MODEL: model.describe(
    `Unset: \`${DEFAULT_MODELS.openai}\` or \`${DEFAULT_MODELS.transformers}\`. The latter may be a directory.`,
  ),
  EMBEDDING_DIMENSIONS: number(1, MOST_DIMENSIONS)
    .optional()
    .describe("Components of the vectors. Needed for models other than those and OpenAI's."),
}

const environment = z.object(embedderVariables)
type Environment = z.output<typeof environment>

/** The model that is to be used, and what we know of its vectors; nulls for what is not known or not needed. */
function embeddingModel({ EMBEDDER, EMBEDDING_MODEL }: Environment) {
  if (EMBEDDER === 'static') return { model: null, native: null, shortens: false }
  const model = EMBEDDING_MODEL ?? DEFAULT_MODELS[EMBEDDER]
  const name = model.split(/[/\\]/).findLast(Boolean) ?? ''
  const native = Object.hasOwn(DIMENSIONS, name) ? DIMENSIONS[name]! : null
  return { model, native, shortens: name.startsWith('text-embedding-3-') }
}

/** What is wrong with the variables of the embedder, taken together. */
export function* embedderProblems(env: Environment): Generator<[variable: string, message: string]> {
  const { model, native, shortens } = embeddingModel(env)
  const dimensions = env.EMBEDDING_DIMENSIONS
  if (model === null) {
    const message = 'is for EMBEDDER=openai and EMBEDDER=transformers: set that too, or unset this'
    if (env.EMBEDDING_MODEL) yield ['EMBEDDING_MODEL', message]
    if (dimensions) yield ['EMBEDDING_DIMENSIONS', message]
    return
  }
  if (env.EMBEDDER === 'openai' && lacksKey(env)) yield ['OPENAI_API_KEY', KEY_WANTED]
  if (native === null && !dimensions) {
    yield ['EMBEDDING_DIMENSIONS', `set it to the length of the vectors that ${JSON.stringify(model)} makes`]
  } else if (native !== null && dimensions && (shortens ? dimensions > native : dimensions !== native)) {
    yield ['EMBEDDING_DIMENSIONS', `${model} makes vectors of ${native}${shortens ? ' at most' : ''}`]
  }
}

export const EMBEDDER_VARIABLES = [
  'EMBEDDER',
  'OPENAI_BASE_URL',
  'OPENAI_API_KEY',
  'EMBEDDING_MODEL',
  'EMBEDDING_DIMENSIONS',
]

/** Which embedder, and what it needs. */
type EmbedderConfig =
  | { kind: 'static' }
  | {
      kind: 'openai'
      /** Without a slash at its end. */
      baseUrl: string
      apiKey: string | undefined
      model: string
      dimension: number
      /** Whether the model makes vectors of another length where it is told to. */
      shortens: boolean
    }
  | { kind: 'transformers'; model: string; dimension: number }

export function embedderOf(env: Environment): EmbedderConfig {
  const { model, native, shortens } = embeddingModel(env)
  if (env.EMBEDDER === 'static' || model === null) return { kind: 'static' }
  const dimension = env.EMBEDDING_DIMENSIONS ?? native!
  if (env.EMBEDDER === 'transformers') return { kind: 'transformers', model, dimension }
  return { kind: 'openai', baseUrl: env.OPENAI_BASE_URL, apiKey: env.OPENAI_API_KEY, model, dimension, shortens }
}
