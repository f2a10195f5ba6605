// The settings of what summarises the oldest turns of a conversation.

import { z } from 'zod'
import { KEY_WANTED, lacksKey, openAiVariables } from './embedder.ts'
import { model, oneOf } from './fields.ts'

/** The model taken where none is named. */
const DEFAULT_MODEL = 'gpt-4.1-mini'

export const summarizerVariables = {
  SUMMARIZER: oneOf('extractive', 'openai')
    .prefault('extractive')
    .describe('What summarises old turns: `extractive` (built in: their own sentences) or `openai`.'),
  SUMMARIZER_MODEL: model.describe(`The model that \`openai\` summarises with. Unset: \`${DEFAULT_MODEL}\`.`),
}

const environment = z.object({ ...openAiVariables, ...summarizerVariables })
type Environment = z.output<typeof environment>

export const SUMMARIZER_VARIABLES = ['SUMMARIZER', 'SUMMARIZER_MODEL', 'OPENAI_BASE_URL', 'OPENAI_API_KEY']

/** What is wrong with the variables of the summarizer, taken together. */
export function* summarizerProblems(env: Environment): Generator<[variable: string, message: string]> {
  if (env.SUMMARIZER === 'extractive') {
    if (env.SUMMARIZER_MODEL) yield ['SUMMARIZER_MODEL', 'is for SUMMARIZER=openai: set that too, or unset this']
  } else if (env.SUMMARIZER_MODEL === 'extractive') {
    yield ['SUMMARIZER_MODEL', 'names what is built in: set SUMMARIZER=extractive instead']
  } else if (lacksKey(env)) {
    yield ['OPENAI_API_KEY', KEY_WANTED]
  }
}

/** Which summarizer is the server's own, and what it needs. */
type SummarizerConfig =
  | { kind: 'extractive' }
  | {
      kind: 'openai'
      /** Without a slash at its end. */
      baseUrl: string
      apiKey: string | undefined
      model: string
    }

export function summarizerOf(env: Environment): SummarizerConfig {
  if (env.SUMMARIZER === 'extractive') return { kind: 'extractive' }
  return {
    kind: 'openai',
    baseUrl: env.OPENAI_BASE_URL,
    apiKey: env.OPENAI_API_KEY,
    model: env.SUMMARIZER_MODEL ?? DEFAULT_MODEL,
  }
}
