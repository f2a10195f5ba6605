// The settings of chat providers: the short form, the file, the keys that it names, and every mistake in it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { problemsOf } from '../../support/environment.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function file(name: string, content: unknown): string {
  const path = join(directory, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const providersFile = (providers: unknown) => ({ PROVIDERS_FILE: file('providers.json', providers) })
/** The problems of a file, without its name. */
const problemsIn = (providers: unknown, env: Record<string, string> = {}) => {
  const set = providersFile(providers)
  return problemsOf({ ...set, ...env }).map((each) =>
    each.replace(`PROVIDERS_FILE is ${JSON.stringify(set.PROVIDERS_FILE)}: `, ''),
  )
}

describe('the chat providers', () => {
  it('are echo on a loopback address and none elsewhere, unless ECHO_PROVIDER is set', () => {
    const network = { HOST: '0.0.0.0', ALLOW_UNAUTHENTICATED: '1' }
    const names = (env: Record<string, string>) => Object.keys(loadConfig(env).chatProviders)
    expect(names({})).toEqual(['echo'])
    expect(names({ ECHO_PROVIDER: '0' })).toEqual([])
    expect(names(network)).toEqual([])
    expect(names({ ...network, ECHO_PROVIDER: '1' })).toEqual(['echo'])
  })

  it('include openai if CHAT_MODEL is set; OpenAI itself also requires a key', () => {
    expect(loadConfig({ CHAT_MODEL: 'm', OPENAI_API_KEY: 'sk-1' }).chatProviders.openai).toMatchObject({
      kind: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 'sk-1',
      model: 'm',
    })
    expect(loadConfig({ CHAT_MODEL: 'm', OPENAI_BASE_URL: 'http://o:1/v1/' }).chatProviders.openai).toMatchObject({
      baseUrl: 'http://o:1/v1',
      apiKey: undefined,
    })
    expect(problemsOf({ CHAT_MODEL: 'm' })).toEqual([
      'OPENAI_API_KEY: is required by OpenAI; for another server set OPENAI_BASE_URL',
    ])
    // The key alone adds no provider, because other services use it too.
    expect(loadConfig({ OPENAI_API_KEY: 'sk-1' }).chatProviders.openai).toBeUndefined()
  })

  it('accept images as CHAT_IMAGES or the field images says', () => {
    const local = { CHAT_MODEL: 'm', OPENAI_BASE_URL: 'http://o:1/v1' }
    const accepts = (env: Record<string, string>, name = 'openai') =>
      (loadConfig(env).chatProviders[name] as { acceptsImages?: boolean }).acceptsImages
    expect(accepts(local)).toBeUndefined()
    expect(accepts({ ...local, CHAT_IMAGES: '1' })).toBe(true)
    expect(accepts({ ...local, CHAT_IMAGES: '0' })).toBe(false)
    const one = { kind: 'openai', baseUrl: 'http://o:1/v1', model: 'a', images: true }
    expect(accepts(providersFile({ one }), 'one')).toBe(true)
  })

  it('are read from the file, with keys from files and variables', () => {
    const { chatProviders } = loadConfig({
      KEY_OF_MINE: 'sk-2',
      ...providersFile({
        one: { kind: 'openai', apiKeyFile: file('key', ' sk-1\n'), model: 'a', models: ['b'], timeoutSeconds: 90 },
        two: { kind: 'openai', apiKeyVariable: 'KEY_OF_MINE', model: 'a' },
        'l-3_x': { kind: 'openai', baseUrl: 'http://o:1/v1/', model: 'a' },
        echo: { kind: 'echo', wordMilliseconds: 5, mayDie: true },
      }),
    })
    const where = 'of the provider one in PROVIDERS_FILE'
    expect(chatProviders).toEqual({
      echo: { kind: 'echo', wordMs: 5, mayDie: true, stallMs: 60_000 },
      one: {
        kind: 'openai',
        baseUrl: 'https://api.openai.com/v1',
        apiKey: 'sk-1',
        model: 'a',
        models: ['b'],
        stallMs: 90_000,
        settingNames: { url: `the baseUrl ${where}`, key: `the key ${where}`, model: `the model ${where}` },
      },
      two: expect.objectContaining({ apiKey: 'sk-2', stallMs: 60_000 }),
      'l-3_x': expect.objectContaining({ apiKey: undefined, baseUrl: 'http://o:1/v1' }),
    })
  })

  it('from the file replace the providers of other settings', () => {
    const { chatProviders } = loadConfig({
      CHAT_MODEL: 'm',
      OPENAI_API_KEY: 'sk-1',
      ...providersFile({ openai: { kind: 'openai', baseUrl: 'http://o:1/v1', model: 'other' } }),
    })
    expect(chatProviders.openai).toMatchObject({ model: 'other', baseUrl: 'http://o:1/v1' })
  })
})

describe('a mistake in PROVIDERS_FILE', () => {
  const valid = { kind: 'openai', baseUrl: 'http://o:1/v1', model: 'a' }
  it.each([
    ['no JSON', '{', 'is not JSON'],
    ['a list', [], /expected record/],
    ['a bad name', { 'No Name': valid }, /No Name must match/],
    ['an unknown kind', { x: { ...valid, kind: 'azure' } }, /^x kind/],
    ['an unknown field', { x: { ...valid, apiKey: 'sk-1' } }, /^x .*apiKey/],
    ['a bad URL', { x: { ...valid, baseUrl: 'ftp://o' } }, /^x baseUrl must be a URL like/],
    ['no model', { x: { kind: 'openai', baseUrl: 'http://o:1/v1' } }, /^x model/],
    ['a bad time limit', { x: { ...valid, timeoutSeconds: 301 } }, /^x timeoutSeconds .*300/],
    [
      'no key for OpenAI',
      { x: { kind: 'openai', model: 'a' } },
      'x apiKeyFile or apiKeyVariable is required by OpenAI',
    ],
    ['two keys', { x: { ...valid, apiKeyFile: 'a', apiKeyVariable: 'b' } }, /^x apiKeyFile and apiKeyVariable/],
    ['a missing key file', { x: { ...valid, apiKeyFile: '/none' } }, 'x cannot be read (ENOENT)'],
    ['an unset key variable', { x: { ...valid, apiKeyVariable: 'NONE' } }, 'x apiKeyVariable NONE is not set'],
    ['too many', Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`x${i}`, valid])), /at most 50 providers/],
  ])('is reported: %s', (_, content, expected) => {
    const problems = problemsIn(content)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(expected)
  })

  it('is reported with all others, and no key is quoted', () => {
    const problems = problemsIn(
      { x: { ...valid, apiKeyVariable: 'BAD_KEY' }, y: { ...valid, apiKeyVariable: 'NONE' } },
      { BAD_KEY: 'sk 1', PORT: 'x' },
    )
    expect(problems).toHaveLength(3)
    expect(problems.join()).not.toContain('sk 1')
    expect(problemsOf({ PROVIDERS_FILE: '/none.json' })).toEqual([
      'PROVIDERS_FILE is "/none.json": cannot be read (ENOENT)',
    ])
  })
})
