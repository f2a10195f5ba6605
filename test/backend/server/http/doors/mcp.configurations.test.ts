// The configuration files in docs/mcp.md: each connects a client as its application would.

import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createApiKey } from '../../../../../src/domain/trust/api-key/api-key.ts'
import { embedded } from '../../../../support/backend.ts'
import { runCommand } from '../../../../support/command.ts'
import { blocks, readDocument } from '../../../../support/documents.ts'
import { connectMcp, INITIALIZE } from '../../../../support/mcp.ts'
import { useServer } from '../../../../support/server.ts'

type Entry = {
  command?: string
  args?: string[]
  env?: Record<string, string>
  url?: string
  headers?: Record<string, string>
}
type Configuration = { mcpServers?: Record<string, Entry>; servers?: Record<string, Entry> }

const ADDRESS = 'http://127.0.0.1:4000'
const entries = blocks(readDocument('docs/mcp.md'), 'json').map(({ text, line }) => {
  const { mcpServers, servers } = JSON.parse(text) as Configuration
  return { line, entry: (mcpServers ?? servers)!.colloquy! }
})

describe('the configuration in docs/mcp.md', () => {
  const server = useServer(embedded, { AUTH_MODE: 'keys' })
  const issue = async () => {
    const input = { name: 'k', actor: 'ada', rights: ['read', 'write'] as ('read' | 'write')[] }
    return (await createApiKey(server.deps, server.tenant().as('operator'), input)).token
  }

  it.each(entries.filter(({ entry }) => entry.url))('on line $line connects to a server', async ({ entry }) => {
    expect(entry.url).toBe(`${ADDRESS}/mcp`)
    const token = await issue()
    const header = entry.headers!.Authorization!.replace(/\$\{[\w:-]+\}/, token)
    const { client } = await connectMcp(server.url, { Authorization: header })
    expect((await client.listTools()).tools.length).toBeGreaterThan(5)
  })

  it.each(entries.filter(({ entry }) => entry.command))('on line $line starts a command', async ({ entry }) => {
    expect([entry.command, ...entry.args!.slice(0, 3)]).toEqual(['npx', '-y', 'colloquy', 'mcp'])
    const given = entry.args!.slice(2)
    // Without --url, test/system/mcp.test.ts starts the command.
    const args = given.includes('--url')
      ? given.map((each) => (each === ADDRESS ? server.url : each))
      : [...given, '--url', server.url]
    if (given.includes('--url')) expect(entry.env!.COLLOQUY_TOKEN).toMatch(/^colloquy_/)
    else expect(entry.env!.DATA_DIR).toMatch(/^\//)
    const input = new PassThrough()
    input.end(`${JSON.stringify(INITIALIZE)}\n`)
    const token = given.includes('--url') ? await issue() : undefined
    const { code, stdout } = await runCommand(args, { input, defaults: { url: undefined, token } })
    expect(code).toBe(0)
    const answer = JSON.parse(stdout) as { result?: object; error?: { message: string } }
    if (token) expect(answer.result).toMatchObject({ serverInfo: { name: 'colloquy' } })
    else expect(answer.error!.message).toContain('token')
  })
})
