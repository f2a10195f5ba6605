// A file of an embedded database is imported by the command into a server process that is killed in the middle and
// restarted. The same command then continues, and the export of the new server has the hash of the file.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { compiledSource } from '../../scripts/compiled.js'
import { START_IMPORT } from '../../src/client/verbs/documents.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import { embedded, everyBackend, newDataDir } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { SHORT_LIVED } from '../support/short-lived.ts'
import { exportLines, fillTenant, hashOf } from '../support/transfer.ts'
import { useWorld } from '../support/world.ts'
import { createServerProcess, type Server } from './processes.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const TENANT = 'moved'

/** Runs the command against the server. Resolves with its exit code and its messages. */
async function command(server: Server, args: string[]): Promise<{ code: number | null; stderr: string }> {
  const target = ['--url', `http://${server.url}`, '--tenant', TENANT, '--actor', 'root']
  const child = spawn(process.execPath, [...SHORT_LIVED, await compiledSource(), ...args, ...target], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stderr }
}

/** Returns the number of lines that the server has imported, or null if it does not answer. */
async function importedLines(server: Server, manifest: string, fileKey: string): Promise<number | null> {
  try {
    const response = await fetch(`http://${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-tenant': TENANT, 'x-actor': 'root' },
      body: JSON.stringify({ query: START_IMPORT, variables: { input: { manifest, fileKey } } }),
    })
    const { data } = (await response.json()) as { data: { startImport: { transfer: { lines: number } } } }
    return data.startImport.transfer.lines
  } catch {
    return null
  }
}

describe.runIf(isLong)('an import', () => {
  const world = useWorld(embedded)

  /** Writes a file with a filled tenant and long conversations. Returns its lines. */
  async function writeExport(path: string): Promise<string[]> {
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    await fillTenant(world.deps, tenant)
    for (let n = 0; n < 8; n++) {
      const compaction = { strategy: 'NEVER' as const }
      const { conversation } = await createConversation(world.deps, ann, {
        title: `${n}`,
        automaticTitle: false,
        compaction,
      })
      const turns = Array.from({ length: 500 }, (_, index) => ({
        role: 'USER' as const,
        content: `Turn ${index} of ${n}.`,
      }))
      await appendTurns(world.deps, ann, { conversationId: conversation.id, turns })
    }
    const lines = await exportLines(world.deps, ann, { scope: 'TENANT' })
    await writeFile(path, `${lines.join('\n')}\n`)
    return lines
  }

  it.each(everyBackend)(
    'into $name survives kill -9 of the server, and is exported with the same hash',
    async (backend) => {
      const directory = await mkdtemp(join(tmpdir(), 'colloquy-test-'))
      closing.push(() => rm(directory, { recursive: true }))
      const [given, exported] = [join(directory, 'given.jsonl'), join(directory, 'exported.jsonl')]
      const lines = await writeExport(given)

      const opened = backend.name === 'embedded' ? null : await backend.open()
      if (opened) closing.push(opened.close)
      const dataDir = opened ? '' : await newDataDir()
      if (!opened) closing.push(() => rm(dataDir, { recursive: true }))
      const site = opened ? { databaseUrl: opened.url!, redisUrl: opened.redisUrl ?? '' } : { dataDir }
      const server = await createServerProcess(site)
      await server.start()
      closing.push(() => server.kill())

      const { createHash } = await import('node:crypto')
      const fileKey = createHash('sha256')
        .update(await readFile(given))
        .digest('hex')
      const importing = command(server, ['import', given])
      // At least one batch is written, in the middle of a conversation, and others are not.
      await vi.waitFor(async () => expect(await importedLines(server, lines[0]!, fileKey)).toBeGreaterThan(500), {
        timeout: 30_000,
        interval: 5,
      })
      await server.kill()
      const killed = await importing
      expect(killed.code).not.toBe(0)
      expect(killed.stderr).toContain('Run the same command again to continue')

      await server.start()
      const written = (await importedLines(server, lines[0]!, fileKey))!
      expect(written).toBeLessThan(lines.length - 2)
      const continued = await command(server, ['import', given])
      expect(continued).toEqual({ code: 0, stderr: `Continuing after ${written.toLocaleString('en-US')} lines.\n` })
      expect(await command(server, ['export', '--all', '--out', exported])).toEqual({ code: 0, stderr: '' })
      const again = (await readFile(exported, 'utf8')).trimEnd().split('\n')
      expect(again.slice(1, -1)).toEqual(lines.slice(1, -1))
      expect(hashOf(again)).toBe(hashOf(lines))
    },
    180_000,
  )
})
