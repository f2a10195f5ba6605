// Checks the examples, which must be installed, as `npm run check:examples` does: compiles them, runs each offline, and
// compares what it prints with docs/library.md. A file of an example has at most MAX_LINES lines.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

/** Maximum number of lines of a file of an example. */
const MAX_LINES = 40
/** Time limit of a command, ms. */
const TIMEOUT_MS = 60_000

const names = readdirSync(`${root}examples`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
  .map(({ name }) => name)

let failed = 0
/** Runs a check, which returns a problem or throws, and prints the result. */
async function check(what: string, find: () => Promise<string | null>): Promise<void> {
  const problem = await find().catch((error: unknown) => {
    const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string }
    return `${stdout}${stderr}` || message
  })
  console.log(`${problem === null ? 'passed' : 'FAILED'}  ${what}`)
  if (problem !== null) console.log(problem)
  if (problem !== null) failed += 1
}

/** Returns the text that docs/library.md says the example prints. */
function expectedOf(name: string): string | undefined {
  const text = readFileSync(`${root}docs/library.md`, 'utf8')
  return text.split(`examples/${name}/main.ts`)[1]?.split('```text\n')[1]?.split('```')[0]
}

await check('the types of the examples', async () => {
  await run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '--noEmit', '-p', `${root}examples`])
  return null
})
for (const name of names) {
  for (const file of readdirSync(`${root}examples/${name}`)) {
    const lines = readFileSync(`${root}examples/${name}/${file}`, 'utf8').trimEnd().split('\n').length
    await check(`${name}/${file}: ${lines} lines`, async () => (lines > MAX_LINES ? `at most ${MAX_LINES}` : null))
  }
  await check(`${name}/main.ts prints what docs/library.md shows`, async () => {
    const { stdout } = await run(process.execPath, ['--import', 'tsx', `${root}examples/${name}/main.ts`], {
      cwd: root,
      env: { ...process.env, TSX_TSCONFIG_PATH: `${root}examples/tsconfig.json`, DATABASE_URL: '', REDIS_URL: '' },
      timeout: TIMEOUT_MS,
    })
    return stdout === expectedOf(name) ? null : `It prints:\n${stdout}`
  })
}
process.exit(failed === 0 ? 0 : 1)
