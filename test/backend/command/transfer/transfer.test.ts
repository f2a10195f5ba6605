// The commands `export` and `import` against a server: files, continuing, and failures on one line.

import { appendFile, copyFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT, type Io } from '../../../../src/command/program.ts'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../src/domain/trust/erasure/delete-conversation.ts'
import { PROGRAMS } from '../../../../src/domain/trust/transfer/foreign/foreign.ts'
import { backends } from '../../../support/backend.ts'
import { runCommand } from '../../../support/command.ts'
import { blocks, readDocument } from '../../../support/documents.ts'
import { useServer } from '../../../support/server.ts'
import { fillTenant } from '../../../support/transfer.ts'

/** Names of the fixtures that are no JSON files. */
const FILES: Record<string, string> = { slack: 'slack' }

describe.each(backends)('the commands export and import on $name', (backend) => {
  const server = useServer(backend)
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'colloquy-transfer-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  let files = 0
  const newFile = () => join(directory, `${++files}.jsonl`)
  const exists = (path: string) =>
    stat(path).then(
      () => true,
      () => false,
    )

  /** Returns a tenant, and a function that runs a command as ann. */
  function start() {
    const tenant = server.tenant()
    const run = (args: string[], io: Partial<Io> = {}) =>
      runCommand([...args, '--url', server.url, '--tenant', tenant.name, '--actor', 'ann'], io)
    return { tenant, run }
  }

  it('write a file, and import it into another tenant once', async () => {
    const { tenant, run } = start()
    const conversationId = await tenant.newConversation('ann')
    await tenant.append(conversationId, 'ann', 'Hello.')
    const file = newFile()
    const { code, stdout, stderr } = await run(['export', '--conversation', conversationId, '--out', file])
    expect([code, stderr]).toEqual([EXIT.success, ''])
    expect(stdout).toMatch(/^Exported 5 lines to .*: 1 conversation, 2 entry, 1 participant\.\nsha256 \w{64}\n$/)
    expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(8)
    const again = await run(['import', file])
    expect([again.code, again.stderr]).toEqual([EXIT.success, ''])
    expect(again.stdout).toContain('was imported before: nothing has changed.')
    await deleteAll(tenant.name, conversationId)
    const { stdout: json } = await run(['import', file, '--json'])
    expect(JSON.parse(json)).toMatchObject({ state: 'COMPLETED', report: { 'conversation.added': 1, 'turn.added': 1 } })
  })

  async function deleteAll(tenant: string, ...ids: string[]) {
    for (const id of ids) await deleteConversation(server.deps, { tenant, actor: 'ann' }, id)
    const viewer = server.deps.db.of(tenant)
    await viewer.erasure.deleteMany({ where: { tenant } })
  }

  /** Runs a command that is stopped, as by Ctrl-C, when the server has answered that many requests that match. */
  async function stoppedAfter<T>(
    answers: number,
    pattern: RegExp,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const stopping = new AbortController()
    const original = globalThis.fetch
    let count = 0
    globalThis.fetch = async (...call) => {
      const response = await original(...call)
      if (pattern.test(String(call[1]?.body)) && ++count === answers) stopping.abort()
      return response
    }
    return run(stopping.signal).finally(() => (globalThis.fetch = original))
  }

  it('continue an export and an import that were stopped', async () => {
    const { tenant, run } = start()
    const conversationId = await tenant.newConversation('ann')
    for (let n = 0; n < 9; n++) await tenant.append(conversationId, 'ann', `${n} ${'x'.repeat(250_000)}`)
    const whole = newFile()
    await run(['export', '--all', '--out', whole])

    const file = newFile()
    const stopped = await stoppedAfter(2, /ContinueExport/, (signal) =>
      run(['export', '--all', '--out', file], { signal }),
    )
    expect(stopped.code).toBe(EXIT.interrupted)
    expect(stopped.stderr).toContain(`Run the same command again to continue ${file}.part.`)
    expect(await exists(file)).toBe(false)
    // A page that was half written is written again.
    await appendFile(`${file}.part`, '{"type":"ent')
    const other = await run(['export', '--user', 'ann', '--out', file])
    expect([other.code, other.stderr]).toEqual([EXIT.failure, expect.stringContaining('with other options')])
    expect(await run(['export', '--all', '--out', file])).toMatchObject({ code: EXIT.success, stderr: '' })
    const lines = async (path: string) => (await readFile(path, 'utf8')).split('\n').slice(1, -2)
    expect(await lines(file)).toEqual(await lines(whole))
    expect([await exists(`${file}.part`), await exists(`${file}.part.json`)]).toEqual([false, false])

    await deleteAll(tenant.name, conversationId)
    const halted = await stoppedAfter(1, /ContinueImport/, (signal) => run(['import', file], { signal }))
    expect(halted).toMatchObject({
      code: EXIT.interrupted,
      stderr: expect.stringContaining('Run the same command again'),
    })
    const continued = await run(['import', file])
    expect(continued.stderr).toMatch(/^Continuing after \d+ lines\.\n$/)
    expect(continued).toMatchObject({ code: EXIT.success, stdout: expect.stringContaining('added') })
  })

  it('fail on one line, and import nothing of a damaged file', async () => {
    const { tenant, run } = start()
    await fillTenant(server.deps, tenant)
    const file = newFile()
    await run(['export', '--all', '--out', file])
    const text = await readFile(file, 'utf8')
    const failing = async (args: string[]) => {
      const { code, stdout, stderr } = await run(args)
      expect(stdout).toBe('')
      return [code, stderr]
    }
    const other = start()
    const damaged: [string, string][] = [
      [text.slice(0, text.length / 2), 'line'],
      [text.split('\n').slice(0, -2).join('\n'), 'without its last line'],
      [text.replace('Pier 4?', 'Pier 5?'), 'has a hash (sha256) that does not match'],
      [text.replace('"entry"', '"enrty"'), 'line 5 has the unknown type "enrty". Did you mean entry?'],
      ['{"mapping":{}}\n', 'line 1 is not the manifest of an export of Colloquy'],
      ['', 'is empty'],
    ]
    for (const [content, reason] of damaged) {
      const path = newFile()
      await writeFile(path, content)
      const { code, stderr } = await other.run(['import', path])
      expect([code, stderr]).toEqual([EXIT.failure, expect.stringContaining(reason)])
      expect(stderr).toContain('Nothing was imported.')
      expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    }
    expect(await server.deps.db.of(other.tenant.name).transfer.count()).toBe(0)
    expect(await failing(['export', '--all', '--out', file])).toEqual([
      1,
      `${file} exists. Choose another file, or delete it.\n`,
    ])
    expect(await failing(['export', '--all', '--out', join(directory, 'no', 'where')])).toEqual([
      1,
      expect.stringContaining('there is no such file or folder'),
    ])
    expect(await failing(['import', join(directory, 'nothing')])).toEqual([1, expect.stringContaining('Cannot read')])
    expect(await failing(['import', directory])).toEqual([1, expect.stringContaining('it is a folder')])
    expect(await failing(['export', '--out', file])).toEqual([2, expect.stringContaining('--conversation, --owner')])
    expect(await failing(['export', '--conversation', 'nowhere', '--out', newFile()])).toEqual([
      1,
      expect.stringContaining('NOT_FOUND'),
    ])
    await truncate(file, 0)
  })

  it('cancel an import that was stopped by a conflict', async () => {
    const { tenant, run } = start()
    const conversationId = await tenant.newConversation('ann')
    await tenant.append(conversationId, 'ann', 'Hello.')
    const file = newFile()
    await run(['export', '--all', '--out', file])
    const other = start()
    const { code, stderr } = await other.run(['import', file])
    expect([code, stderr]).toEqual([
      EXIT.failure,
      expect.stringContaining(`CONFLICT: The id ${conversationId} is used`),
    ])
    const cancelled = await other.run(['import', file, '--cancel'])
    expect(cancelled).toMatchObject({ code: EXIT.success, stdout: expect.stringContaining('Cancelled') })
  })

  it.each(PROGRAMS)('import a file of %s, whose data the actor then sees, and import it only once', async (program) => {
    const { run } = start()
    const file = fileURLToPath(
      new URL(`../../../support/foreign/${FILES[program] ?? `${program}.json`}`, import.meta.url),
    )
    const first = await run(['import', file, '--from', program, '--json'])
    expect([first.code, first.stderr]).toEqual([EXIT.success, ''])
    const { report, unfit } = JSON.parse(first.stdout)
    const added = Object.values<number>(report).reduce((sum, count) => sum + count, 0)
    expect(added).toBeGreaterThan(1)
    expect(Object.keys(report).every((key) => key.endsWith('.added'))).toBe(true)
    expect(Object.keys(unfit).length).toBeGreaterThan(0)
    const again = await run(['import', file, '--from', program])
    expect([again.code, again.stderr]).toEqual([EXIT.success, ''])
    expect(again.stdout).toContain('was imported before: nothing has changed.')
    expect(again.stdout).toContain('Not imported:')
    const { stdout } = await run(program === 'mem0' ? ['facts', '--user', 'ada'] : ['conversations'])
    expect(stdout).not.toContain('There are no')
  })

  it('refuse an unknown program, and name the programs', async () => {
    const { run } = start()
    const { code, stderr } = await run(['import', 'x.json', '--from', 'chatgtp'])
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringContaining('chatgpt, claude, openai')])
  })

  it('are shown in docs/import-and-export.md by examples that run', async () => {
    const { tenant } = start()
    const folder = await mkdtemp(join(directory, 'docs-'))
    await createConversation(server.deps, tenant.as('ada'), { key: 'garden', participants: [{ actor: 'ada' }] })
    const chatgpt = fileURLToPath(new URL('../../../support/foreign/chatgpt.json', import.meta.url))
    await copyFile(chatgpt, join(folder, 'conversations.json'))
    const commands = blocks(readDocument('docs/import-and-export.md'), 'sh').flatMap(({ text }) =>
      text.trim().split('\n'),
    )
    expect(commands).toHaveLength(5)
    for (const command of commands) {
      const [npx, colloquy, ...args] = command.split(' ')
      expect([npx, colloquy]).toEqual(['npx', 'colloquy'])
      const own = args.map((arg) =>
        /\.jsonl?$/.test(arg) ? join(folder, arg) : arg.replace('http://127.0.0.1:4000', server.url),
      )
      const { code, stderr } = await runCommand([...own, '--tenant', tenant.name])
      expect([command, code, stderr]).toEqual([command, EXIT.success, ''])
    }
    const manifests = blocks(readDocument('docs/import-and-export.md'), 'json').map(({ text }) =>
      JSON.parse(text.split('\n')[0]!),
    )
    const [written] = (await readFile(join(folder, 'backup.jsonl'), 'utf8')).split('\n')
    expect(Object.keys(JSON.parse(written!))).toEqual(Object.keys(manifests[0]))
  })
})
