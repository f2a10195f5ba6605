// Settings that are read from secret files, and the error texts for files that cannot be used.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig, secretFileVariables } from '../../../src/config/config.ts'
import { problemsOf } from '../../support/environment.ts'

const URL = 'postgres://u:hidden@db/colloquy'

describe('a secret in a file', () => {
  let directory: string
  const path = (name: string) => join(directory, name)
  const file = (name: string, content: string) => {
    writeFileSync(path(name), content)
    return path(name)
  }
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  })
  afterAll(() => rmSync(directory, { recursive: true }))

  it('is read as if it were in the variable, without white space around it', () => {
    const config = loadConfig({
      DATABASE_URL_FILE: file('database', `${URL}\n`),
      REDIS_URL_FILE: file('redis', ' redis://:hidden@redis:6379\r\n'),
      OPENAI_API_KEY_FILE: file('key', 'sk-hidden'),
      EMBEDDER: 'openai',
    })
    expect(config).toMatchObject({
      databaseUrl: URL,
      redisUrl: 'redis://:hidden@redis:6379',
      embedder: { kind: 'openai', apiKey: 'sk-hidden' },
    })
    expect(loadConfig({ DATABASE_URL_FILE: '', REDIS_URL_FILE: '' })).toEqual(loadConfig({}))
  })

  it('may set each URL, key and secret, and no other setting', () => {
    expect(secretFileVariables).toEqual([
      'DATABASE_URL_FILE',
      'MIGRATION_DATABASE_URL_FILE',
      'DATABASE_READ_URL_FILE',
      'REDIS_URL_FILE',
      'OPENAI_BASE_URL_FILE',
      'OPENAI_API_KEY_FILE',
      'RERANK_URL_FILE',
      'RERANK_API_KEY_FILE',
      'JWT_SECRET_FILE',
      'JWKS_URL_FILE',
      'INTEGRITY_KEY_FILE',
      'FILES_S3_SECRET_FILE',
      'PUBLIC_URL_FILE',
    ])
    expect(loadConfig({ PORT_FILE: file('port', '4100') }).port).toBe(4000)
  })

  it('must be readable', () => {
    expect(problemsOf({ DATABASE_URL_FILE: path('missing') })).toEqual([
      `DATABASE_URL_FILE is ${JSON.stringify(path('missing'))}: cannot be read (ENOENT)`,
    ])
    mkdirSync(path('directory'))
    expect(problemsOf({ REDIS_URL_FILE: path('directory') })).toEqual([
      `REDIS_URL_FILE is ${JSON.stringify(path('directory'))}: cannot be read (EISDIR)`,
    ])
  })

  it('must not be empty', () => {
    const blank = file('blank', ' \n')
    expect(problemsOf({ DATABASE_URL_FILE: blank })).toEqual([
      `DATABASE_URL_FILE is ${JSON.stringify(blank)}: must not be empty`,
    ])
  })

  it('must not also be set in the variable', () => {
    expect(problemsOf({ DATABASE_URL_FILE: file('database', URL), DATABASE_URL: URL })).toEqual([
      'DATABASE_URL_FILE: DATABASE_URL is set too; unset one of them',
    ])
  })

  it('is validated like the variable, and no error text quotes it', () => {
    const problems = problemsOf({
      DATABASE_URL_FILE: file('wrong', 'mysql://u:hidden@db'),
      OPENAI_API_KEY_FILE: path('missing'),
      PORT: 'x',
      EMBEDDER: 'openai',
    })
    expect(problems).toEqual([
      expect.stringMatching(/^OPENAI_API_KEY_FILE is .*: cannot be read \(ENOENT\)$/),
      expect.stringMatching(/^PORT is "x": /),
      expect.stringMatching(/^DATABASE_URL, read from a file: must be a URL that begins with postgres/),
    ])
    expect(problems.join()).not.toContain('hidden')
  })
})
