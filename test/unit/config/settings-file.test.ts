// The settings file: where it is found, what it may contain, the environment on top of it, and every mistake in it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { ConfigError } from '../../../src/config/settings-file.ts'
import { readSettingsFile } from '../../../src/config/settings-file.ts'
import { readSettings } from '../../../src/config/settings.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'colloquy-settings-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function write(name: string, content: unknown): string {
  const path = join(directory, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const read = (env: Record<string, string> = {}) => readSettingsFile(env, directory)

function problemsOf(work: () => unknown): string[] {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('readSettingsFile', () => {
  it.each([
    ['colloquy.config.json', '{ "PORT": 4100 }'],
    ['colloquy.config.js', 'module.exports = { PORT: 4100 }'],
    ['colloquy.config.mjs', 'export default { PORT: 4000 + 100 }'],
    ['colloquy.config.js', 'export default { PORT: 4100 }'],
  ])('reads %s', (name, content) => {
    write(name, content)
    expect(read()).toEqual({ path: name, values: { PORT: 4100 } })
  })

  it('returns null if there is none', () => {
    expect(read({ COLLOQUY_CONFIG: '' })).toBeNull()
  })

  it('reads the file that COLLOQUY_CONFIG names instead of those in the directory', () => {
    write('colloquy.config.json', { PORT: 1 })
    write('other.json', { PORT: 2 })
    expect(read({ COLLOQUY_CONFIG: 'other.json' })).toEqual({ path: 'other.json', values: { PORT: 2 } })
  })

  it.each<[string, unknown, RegExp]>([
    ['colloquy.config.json', '{\n  "PORT": 4100,\n}', /^colloquy\.config\.json is not JSON( \(line 3\))?$/],
    ['colloquy.config.json', '{ "OPENAI_API_KEY": "sk-secret"', /^colloquy\.config\.json is not JSON/],
    ['colloquy.config.json', [], /^colloquy\.config\.json must contain an object$/],
    ['colloquy.config.json', ' '.repeat(1024 * 1024 + 1), /^colloquy\.config\.json must have at most 1048576 bytes$/],
    ['colloquy.config.mjs', 'export const a = 1', /^colloquy\.config\.mjs must export an object as its default$/],
    ['colloquy.config.mjs', 'export default await 1', /^colloquy\.config\.mjs cannot be loaded: .*top-level await/],
    ['colloquy.config.mjs', 'throw new Error("no")', /^colloquy\.config\.mjs cannot be loaded: no$/],
  ])('refuses %s with %j', (name, content, message) => {
    write(name, content)
    const problems = problemsOf(() => read())
    expect(problems).toEqual([expect.stringMatching(message)])
    expect(problems[0]).not.toContain('secret')
  })

  it('refuses two files, and a named file that does not exist', () => {
    write('colloquy.config.json', {})
    write('colloquy.config.mjs', 'export default {}')
    expect(problemsOf(() => read())).toEqual([
      'colloquy.config.json and colloquy.config.mjs exist: keep one of them, or name it in COLLOQUY_CONFIG',
    ])
    for (const name of ['none.json', 'none.mjs']) {
      expect(problemsOf(() => read({ COLLOQUY_CONFIG: name }))).toEqual([`${name} cannot be read (ENOENT)`])
    }
  })
})

describe('the settings of a file', () => {
  const file = (values: Record<string, unknown>) => ({ path: 'c.json', values })
  const settingOf = (name: string, env: Record<string, string>, values: Record<string, unknown>) =>
    readSettings(env, file(values)).find((setting) => setting.name === name)

  it('are parsed like variables: numbers, booleans, lists, and null for unset', () => {
    const config = loadConfig(
      {},
      file({
        PORT: 4100,
        HOST: 'localhost',
        GRAPHIQL: false,
        ALLOWED_ORIGINS: ['http://a', 'http://b'],
        DATA_DIR: null,
      }),
    )
    expect(config).toMatchObject({
      port: 4100,
      host: 'localhost',
      graphiql: false,
      allowedOrigins: ['http://a', 'http://b'],
      dataDir: '.colloquy',
    })
  })

  it('apply below the environment, in which an empty variable counts as unset', () => {
    const values = { PORT: 4100, HOST: 'localhost' }
    expect(loadConfig({ PORT: '4200', HOST: '' }, file(values))).toMatchObject({ port: 4200, host: 'localhost' })
    expect(settingOf('PORT', { PORT: '4200' }, values)).toMatchObject({ value: '4200', source: 'environment' })
    expect(settingOf('HOST', {}, values)).toEqual({ name: 'HOST', value: 'localhost', source: 'file', file: 'c.json' })
    expect(settingOf('DATA_DIR', {}, values)).toMatchObject({ source: 'default' })
  })

  it('may name the file of a secret, which a secret of the environment replaces', () => {
    const OPENAI_API_KEY_FILE = write('key', 'sk-file\n')
    const values = { CHAT_MODEL: 'm', OPENAI_API_KEY_FILE }
    const keyOf = (env: Record<string, string>) =>
      (loadConfig(env, file(values)).chatProviders.openai as { apiKey?: string }).apiKey
    expect(keyOf({})).toBe('sk-file')
    expect(keyOf({ OPENAI_API_KEY: 'sk-env' })).toBe('sk-env')
    expect(settingOf('OPENAI_API_KEY', {}, values)).toMatchObject({ source: 'file', file: OPENAI_API_KEY_FILE })
    expect(settingOf('OPENAI_API_KEY', {}, { OPENAI_API_KEY: 'sk-1' })).toMatchObject({ value: '***', file: 'c.json' })
  })

  it('are reported together, with the file, and the nearest name of an unknown one', () => {
    const values = { PROT: 1, zzz: 1, PORT: 'x', HOST: {}, OPENAI_API_KEY: 'sk 1', JWT_SECRET: 'short' }
    expect(problemsOf(() => loadConfig({ DATABASE_POOL_SIZE: '1' }, file(values)))).toEqual([
      'PROT in c.json: is not a setting; did you mean PORT?',
      'zzz in c.json: is not a setting',
      'HOST in c.json: must be a string, a number, a boolean or a list of strings',
      'PORT is "x" in c.json: must be a whole number from 0 to 65535',
      'DATABASE_POOL_SIZE is "1": must be a whole number from 6 to 200',
      expect.stringMatching(/^OPENAI_API_KEY in c\.json: /),
      'JWT_SECRET in c.json: must have at least 32 bytes',
    ])
  })
})
