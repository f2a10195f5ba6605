// Runs the tests of the Python client, and the examples of docs/python.md, on a server with default settings.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../scripts/demo/server.ts'
import { embedded } from '../support/backend.ts'
import { blocks, readDocument, root } from '../support/documents.ts'
import { HANG_MS } from '../support/patience.ts'

/** Number of the tests of the client when this number was updated. More tests may run. */
const MIN_TESTS = 52
const ADDRESS = 'http://127.0.0.1:4000'

const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status === 0

describe.runIf(hasPython)('the Python client', () => {
  let server: RunningServer
  beforeAll(async () => {
    server = await startServer(embedded)
  })
  afterAll(() => server.stop())

  /** Runs Python on the server, and kills it if it hangs. `input` is written to its standard input. */
  async function python(args: string[], input = '') {
    const child = spawn('python3', args, {
      cwd: join(root, 'clients/python'),
      timeout: HANG_MS / 2,
      env: {
        ...process.env,
        COLLOQUY_URL: new URL(server.url).origin,
        PYTHONPATH: 'src',
        PYTHONDONTWRITEBYTECODE: '1',
        PYTHONUTF8: '1',
      },
    })
    process.once('exit', () => child.kill('SIGKILL'))
    let [out, error] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (error += text))
    child.stdin.end(input)
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, out, error }
  }

  it('passes its tests', async () => {
    const { code, error } = await python(['-m', 'unittest', 'discover', 'tests'])
    expect(code, error).toBe(0)
    expect(error).not.toContain('ResourceWarning')
    const [, count] = /^Ran (\d+) tests /m.exec(error)!
    expect(Number(count)).toBeGreaterThanOrEqual(MIN_TESTS)
  })

  const page = readDocument('docs/python.md')

  it('prints what docs/python.md shows, whose blocks are one program', async () => {
    const program = blocks(page, 'python')
      .map(({ text }) => text)
      .join('\n')
    expect(program).toContain(ADDRESS)
    const { code, out, error } = await python(['-'], program.replaceAll(ADDRESS, new URL(server.url).origin))
    expect(code, error).toBe(0)
    expect(out).toBe(
      blocks(page, 'text')
        .map(({ text }) => text)
        .join(''),
    )
  })

  it('needs at most 30 lines for the memory of docs/python.md', () => {
    const memory = blocks(page, 'python').find(({ text }) => text.startsWith('class '))!
    expect(memory.text.trimEnd().split('\n').length).toBeLessThanOrEqual(30)
  })
})
