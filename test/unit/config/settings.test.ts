// The effective settings, their sources, and the masks of secrets.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { variables } from '../../../src/config/config.ts'
import { readSettings } from '../../../src/config/settings.ts'

const settingOf = (name: string, env: Record<string, string> = {}) =>
  readSettings(env).find((setting) => setting.name === name)

it('lists every setting, in the order of the documentation', () => {
  expect(readSettings({}).map(({ name }) => name)).toEqual(variables.map(({ name }) => name))
})

it.each([
  ['PORT', {}, { value: '4000', source: 'default' }],
  ['PORT', { PORT: '' }, { value: '4000', source: 'default' }],
  ['PORT', { PORT: '80' }, { value: '80', source: 'environment' }],
  ['DATABASE_URL', {}, { value: null, source: 'unset' }],
  [
    'DATABASE_URL',
    { DATABASE_URL: 'postgres://u:secret@db:5432/x?sslmode=require' },
    { value: 'postgres://u:***@db:5432/x?sslmode=require', source: 'environment' },
  ],
  ['DATABASE_URL', { DATABASE_URL: 'postgres://db/x?password=secret' }, { value: 'postgres://db/x?password=***' }],
  ['DATABASE_URL', { DATABASE_URL: 'no url with secret' }, { value: '***' }],
  ['OPENAI_API_KEY', { OPENAI_API_KEY: 'sk-secret' }, { value: '***', source: 'environment' }],
] as const)('%s of %j is %j', (name, env, expected) => {
  expect(settingOf(name, env)).toMatchObject(expected)
  expect(JSON.stringify(settingOf(name, env))).not.toContain('secret')
})

it('names the file that a secret was read from', () => {
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-settings-'))
  const file = join(directory, 'key')
  writeFileSync(file, 'sk-secret\n')
  try {
    expect(settingOf('OPENAI_API_KEY', { OPENAI_API_KEY_FILE: file })).toEqual({
      name: 'OPENAI_API_KEY',
      value: '***',
      source: 'file',
      file,
    })
  } finally {
    rmSync(directory, { recursive: true })
  }
})
