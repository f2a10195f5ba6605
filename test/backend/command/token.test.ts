// `colloquy token` on the embedded database of a stopped server, and on Postgres.

import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tokenCommand, UsageError } from '../../../src/command/token.ts'
import { loadConfig, type Config } from '../../../src/config/config.ts'
import { newId } from '../../../src/domain/id.ts'
import { InvalidInput, NotFound } from '../../../src/errors.ts'
import { backends, newDataDir, type Opened } from '../../support/backend.ts'

const TOKEN = /^colloquy_\w{26}_[\w-]{43}$/

describe.each(backends)('colloquy token on $name', (backend) => {
  let config: Config
  let opened: Opened | null = null
  beforeAll(async () => {
    if (backend.name === 'embedded') return void (config = loadConfig({ DATA_DIR: await newDataDir() }))
    opened = await backend.open()
    config = loadConfig({ DATABASE_URL: opened.url, REDIS_URL: opened.redisUrl })
  })
  afterAll(async () => {
    await opened?.close()
    if (!opened) await rm(config.dataDir, { recursive: true })
  })
  const token = (...args: string[]) => tokenCommand(args, config)
  const parsed = async (...args: string[]) => JSON.parse(await token(...args, '--json'))

  it('creates, lists, rotates and revokes a key', async () => {
    expect(await token('list')).toBe('There are no API keys.')
    const first = await token('create', '--actor', 'bot', '--rights', 'read,write', '--days', '3')
    expect(first).toMatch(TOKEN)
    const conversation = newId('conversation')
    const more = ['--name', 'other', '--kind', 'TOOL', '--conversation', conversation]
    const { apiKey, token: second } = await parsed('create', '--actor', 'bot', '--rights', 'read', ...more)
    expect(second).toMatch(TOKEN)
    expect(apiKey).toMatchObject({ name: 'other', kind: 'TOOL', conversations: [conversation], expiresAt: null })
    const listed = await parsed('list')
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(['other', 'bot'])
    expect(JSON.stringify(listed)).not.toContain(first.slice(-43))
    expect(await token('rotate', apiKey.id, '--overlap', '60')).toMatch(TOKEN)
    expect(await token('revoke', apiKey.id)).toContain('revoked')
    expect(await token('list')).toMatch(/^key_\w+ {2}other .*revoked .*\nkey_\w+ {2}bot .*expires .*last used never$/)
    expect(await parsed('list', '--tenant', 'acme')).toEqual([])
  })

  it.each([
    [[], /^Name a command/],
    [['destroy'], /^Unknown command: token destroy/],
    [['create'], /needs --actor and --rights/],
    [['create', '--actor', 'bot', '--rights', 'read', '--days', 'x'], /--days must be a whole number/],
    [['create', '--nope'], /--nope/],
    [['list', '--overlap', '1'], /does not accept --overlap/],
    [['list', 'key_1'], /takes no id/],
    [['revoke'], /takes one id/],
  ])('refuses %j', async (args, message) => {
    const refused = token(...args)
    await expect(refused).rejects.toThrow(UsageError)
    await expect(refused).rejects.toThrow(message)
  })

  it('rejects an unknown right and an unknown key', async () => {
    await expect(token('create', '--actor', 'bot', '--rights', 'fly')).rejects.toThrow(InvalidInput)
    await expect(token('rotate', newId('key'))).rejects.toThrow(NotFound)
  })
})
