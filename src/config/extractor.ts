// The settings of what makes facts and profiles of conversations.

import { z } from 'zod'
import { KEY_WANTED, lacksKey, openAiVariables } from './embedder.ts'
import { model, oneOf } from './fields.ts'

/** The model taken where none is named. */
const DEFAULT_MODEL = 'gpt-4.1-mini'

export const extractorVariables = {
  EXTRACTOR: oneOf('rules', 'openai')
    .prefault('rules')
    .describe('What takes facts from turns and makes profiles of them: `rules` (built in, for English) or `openai`.'),
  EXTRACTOR_MODEL: model.describe(`The model that \`openai\` does it with. Unset: \`${DEFAULT_MODEL}\`.`),
}

const environment = z.object({ ...openAiVariables, ...extractorVariables })
type Environment = z.output<typeof environment>

export const EXTRACTOR_VARIABLES = ['EXTRACTOR', 'EXTRACTOR_MODEL', 'OPENAI_BASE_URL', 'OPENAI_API_KEY']

/** What is wrong with the variables of the extractor, taken together. */
export function* extractorProblems(env: Environment): Generator<[variable: string, message: string]> {
  if (env.EXTRACTOR === 'rules') {
    if (env.EXTRACTOR_MODEL) yield ['EXTRACTOR_MODEL', 'is for EXTRACTOR=openai: set that too, or unset this']
  } else if (env.EXTRACTOR_MODEL === 'rules') {
    yield ['EXTRACTOR_MODEL', 'names what is built in: set EXTRACTOR=rules instead']
  } else if (lacksKey(env)) {
    yield ['OPENAI_API_KEY', KEY_WANTED]
  }
}

/** What takes facts from turns, judges them and writes profiles, and what it needs. */
type ExtractorConfig =
  | { kind: 'rules' }
  | {
      kind: 'openai'
      /** Without a slash at its end. */
      baseUrl: string
      apiKey: string | undefined
      model: string
    }

export function extractorOf(env: Environment): ExtractorConfig {
  if (env.EXTRACTOR === 'rules') return { kind: 'rules' }
  return {
    kind: 'openai',
    baseUrl: env.OPENAI_BASE_URL,
    apiKey: env.OPENAI_API_KEY,
    model: env.EXTRACTOR_MODEL ?? DEFAULT_MODEL,
  }
}
