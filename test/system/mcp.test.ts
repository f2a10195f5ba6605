// The MCP server of a process of its own, started by a client of the SDK as Claude Desktop and others start it: on the
// embedded database, without any setting.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '../support/long.ts'
import { callTool } from '../support/mcp.ts'
import { START } from '../support/short-lived.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe.runIf(isLong)('colloquy mcp', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'colloquy-mcp-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  /** Starts a session, and returns what it printed on the standard error. */
  async function session(work: (client: Client) => Promise<void>): Promise<string> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [START, 'mcp', '--actor', 'claude'],
      cwd: root,
      env: { PATH: process.env.PATH!, DATA_DIR: join(directory, 'data') },
      stderr: 'pipe',
    })
    let stderr = ''
    transport.stderr!.on('data', (part) => (stderr += String(part)))
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(transport)
    await client.listTools()
    await work(client)
    await client.close()
    return stderr
  }

  it('remembers in one process what the next one recalls', async () => {
    const first = await session(async (client) => {
      const turn = { conversation: 'garden', role: 'USER', content: 'The tomatoes grow on the balcony.' }
      expect((await callTool(client, 'append_turn', turn)).code).toBe(null)
    })
    expect(first).toBe('')
    await session(async (client) => {
      const { text } = await callTool(client, 'recall', { query: 'Where do the tomatoes grow?' })
      expect(text).toContain('The tomatoes grow on the balcony.')
      expect((await callTool(client, 'list_conversations')).text).toMatch(/^garden: /)
    })
  })
})
