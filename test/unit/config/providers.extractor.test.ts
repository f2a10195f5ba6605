// EXTRACTOR and EXTRACTOR_MODEL: their combinations, and the API settings that they share with other providers.

import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { problemsOf } from '../../support/environment.ts'

describe('EXTRACTOR', () => {
  const LOCAL_API = { OPENAI_BASE_URL: 'http://localhost:11434/v1' }
  const KEY_REQUIRED = 'OPENAI_API_KEY: is required by OpenAI; for another server set OPENAI_BASE_URL'

  it('has a default model, and uses the shared API settings', () => {
    expect(loadConfig({ EXTRACTOR: 'openai', ...LOCAL_API }).extractor).toEqual({
      kind: 'openai',
      baseUrl: 'http://localhost:11434/v1',
      apiKey: undefined,
      model: 'gpt-4.1-mini',
    })
    expect(loadConfig({ EXTRACTOR: 'rules', OPENAI_API_KEY: 'sk-key', ...LOCAL_API }).extractor).toEqual({
      kind: 'rules',
    })
  })

  it.each<[string, Record<string, string>, string[]]>([
    ['an unknown extractor', { EXTRACTOR: 'regex' }, ['EXTRACTOR is "regex": must be one of rules, openai']],
    ['OpenAI without a key', { EXTRACTOR: 'openai' }, [KEY_REQUIRED]],
    [
      'OpenAI without a key, once even if several providers lack it',
      { EXTRACTOR: 'openai', SUMMARIZER: 'openai', EMBEDDER: 'openai' },
      [KEY_REQUIRED],
    ],
    [
      'a model for the rules',
      { EXTRACTOR_MODEL: 'm' },
      ['EXTRACTOR_MODEL is "m": requires EXTRACTOR=openai; set one of them, or unset EXTRACTOR_MODEL'],
    ],
    [
      'the rules as a model',
      { EXTRACTOR: 'openai', EXTRACTOR_MODEL: 'rules' },
      ['EXTRACTOR_MODEL is "rules": is the built-in provider, not a model: set EXTRACTOR=rules instead'],
    ],
    [
      'a model with a trailing space, together with other invalid variables',
      { EXTRACTOR: 'openai', EXTRACTOR_MODEL: 'm ', PORT: 'x' },
      [
        'PORT is "x": must be a whole number from 0 to 65535',
        'EXTRACTOR_MODEL is "m ": must be one line without leading or trailing spaces',
      ],
    ],
  ])('rejects %s', (_, env, expected) => {
    expect(problemsOf(env)).toEqual(expected)
  })
})
