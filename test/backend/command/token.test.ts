// `colloquy token` on the embedded database of a stopped server, and on Postgres.

import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT } from '../../../src/command/program.ts'
import { loadConfig, type Config } from '../../../src/config/config.ts'
import { newId } from '../../../src/domain/kernel/id.ts'
import { InvalidInput, NotFound } from '../../../src/errors.ts'
import { backends, newDataDir, type Opened } from '../../support/backend.ts'
import { runCommand } from '../../support/command.ts'

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
  async function token(...args: string[]) {
    const { code, stdout, stderr } = await runCommand(['token', ...args], { loadConfig: () => config })
    expect([code, stderr]).toEqual([EXIT.success, ''])
    return stdout.trimEnd()
  }
  const parsed = async (...args: string[]) => JSON.parse(await token(...args, '--json'))

  it('creates, lists, rotates and revokes a key', async () => {
    expect(await token('list')).toBe('There are no API keys.')
    const first = await token('create', '--actor', 'bot', '--rights', 'read,write', '--days', '3')
    expect(first).toMatch(TOKEN)
    const conversations = [newId('conversation'), newId('conversation')]
    const more = ['--name', 'other', '--kind', 'TOOL', ...conversations.flatMap((id) => ['--conversation', id])]
    const { apiKey, token: second } = await parsed('create', '--actor', 'bot', '--rights', 'read', ...more)
    expect(second).toMatch(TOKEN)
    expect(apiKey).toMatchObject({ name: 'other', kind: 'TOOL', conversations, expiresAt: null })
    const listed = await parsed('list')
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(['other', 'bot'])
    expect(JSON.stringify(listed)).not.toContain(first.slice(-43))
    expect(await token('rotate', apiKey.id, '--overlap', '60')).toMatch(TOKEN)
    expect(await token('revoke', apiKey.id)).toContain('revoked')
    expect(await token('list')).toMatch(/^key_\w+ {2}other .*revoked .*\nkey_\w+ {2}bot .*expires .*last used never$/)
    expect(await parsed('list', '--tenant', 'acme')).toEqual([])
  })

  it.each([
    [[], /^Usage: colloquy token/],
    [['destroy'], /unknown command 'destroy'/],
    [['creat'], /Did you mean create\?/],
    [['create'], /required option '--actor <name>' not specified/],
    [['create', '--actor', 'bot', '--rights', 'read', '--days', 'x'], /must be a whole number from 1 to/],
    [['list', '--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
    [['list', '--overlap', '1'], /unknown option '--overlap'/],
    [['list', 'key_1'], /too many arguments for 'list'/],
    [['revoke'], /missing required argument 'id'/],
  ])('refuses %j', async (args, message) => {
    const { code, stdout, stderr } = await runCommand(['token', ...args], { loadConfig: () => config })
    expect([code, stdout]).toEqual([EXIT.usage, ''])
    expect(stderr).toMatch(message)
  })

  it('rejects an unknown right and an unknown key', async () => {
    await expect(token('create', '--actor', 'bot', '--rights', 'fly')).rejects.toThrow(InvalidInput)
    await expect(token('rotate', newId('key'))).rejects.toThrow(NotFound)
  })
})
