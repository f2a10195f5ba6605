// The script of `npm start`: the names of bundled classes, ASCII output, and the code cache.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { asAscii, withClassNames } from '../../../scripts/bundle.js'

describe('withClassNames', () => {
  const nameOf = (code: string, variable: string) =>
    // eslint-disable-next-line typescript/no-implied-eval -- the code is in this file
    (new Function(`${withClassNames(code)}\nreturn ${variable}`)() as { name: string }).name

  it('names classes that the bundler renamed', () => {
    expect(nameOf('var Client2 = class extends Array {\n}', 'Client2')).toBe('Client')
    expect(nameOf('var NotFound = class _NotFound {\n  static make() { return new _NotFound() }\n}', 'NotFound')).toBe(
      'NotFound',
    )
    expect(nameOf('var Sql4 = class _Sql {\n}', 'Sql4')).toBe('Sql')
  })

  it('changes no other code', () => {
    const code = 'var Client = class extends Array {\n}\nvar count2 = 1'
    expect(withClassNames(code)).toBe(code)
  })
})

describe('asAscii', () => {
  it('keeps the meaning of expressions and names', () => {
    const code = `const größe = /^['’👋]+$/u; return größe.test("'’👋") && /’👋/.test('’👋')`
    const escaped = asAscii(code)
    expect(escaped).toMatch(/^[\0-\x7f]*$/)
    // eslint-disable-next-line typescript/no-implied-eval -- the code is in this file
    expect(new Function(escaped)()).toBe(true)
  })
})

describe('runWithCodeCache', () => {
  let directory: string
  let script: string
  let cache: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'colloquy-code-cache-'))
    script = join(directory, 'script.cjs')
    cache = `${script}.${process.version}.cache`
    await writeFile(script, '#!/usr/bin/env node\nconsole.log(require("node:path").basename(__filename))\n')
  })
  afterEach(() => rm(directory, { recursive: true }))

  const loader = new URL('../../../scripts/code-cache.js', import.meta.url).href
  const run = async (...flags: string[]) => {
    const code = `import { runWithCodeCache } from '${loader}'; runWithCodeCache(${JSON.stringify(script)})`
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      ...flags,
      '--input-type=module',
      '-e',
      code,
    ])
    expect(stderr).toBe('')
    return stdout
  }

  it('writes a cache when the process exits, and does not replace a cache that V8 accepts', async () => {
    expect(await run()).toBe('script.cjs\n')
    const { mtimeMs } = await stat(cache)
    expect(await run()).toBe('script.cjs\n')
    expect((await stat(cache)).mtimeMs).toBe(mtimeMs)
  })

  it('ignores and replaces a cache that V8 rejects', async () => {
    await writeFile(cache, 'no cache')
    expect(await run()).toBe('script.cjs\n')
    expect((await readFile(cache)).toString('latin1')).not.toBe('no cache')
  })

  it('uses no cache if source maps are enabled, because Node must then load the module itself', async () => {
    expect(await run('--enable-source-maps')).toBe('script.cjs\n')
    expect(existsSync(cache)).toBe(false)
  })
})
