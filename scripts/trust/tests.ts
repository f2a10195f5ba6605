// Sections that run test files, and count their tests. A skipped test counts as not passed.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Row, Section } from './section.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

type Counts = { numTotalTests: number; numPassedTests: number }

async function countTests(files: readonly string[]): Promise<Counts> {
  const directory = await mkdtemp(join(tmpdir(), 'colloquy-trust-'))
  const report = join(directory, 'report.json')
  try {
    await promisify(execFile)(
      join(root, 'node_modules/.bin/vitest'),
      ['run', '--config', 'test/vitest.config.ts', '--reporter=json', `--outputFile=${report}`, ...files],
      { cwd: root, env: { ...process.env, LONG: '2' }, maxBuffer: 2 ** 26 },
    ).catch(() => {}) // The command fails if a test fails; the report contains the counts.
    return JSON.parse(await readFile(report, 'utf8')) as Counts
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** A section of test files, one row for all of them. */
export const testSection = (name: string, files: readonly string[]): Section => ({
  name,
  async run(): Promise<Row[]> {
    const missing = files.filter((file) => !existsSync(join(root, file)))
    if (files.length === 0 || missing.length > 0) throw new Error(`missing tests: ${missing.join(', ') || 'all'}`)
    const { numTotalTests: all, numPassedTests: passed } = await countTests(files)
    return [{ name: files.join(', '), value: `${passed} of ${all} passed`, gate: 'all', ok: all > 0 && passed === all }]
  },
})
