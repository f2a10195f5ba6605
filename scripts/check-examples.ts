// `npm run check:examples`: compiles the examples, runs the main.ts of each offline, and compares its output with the
// page of docs/ that shows it. Each file of an example must have at most MAX_LINES lines. The npm script installs the
// examples first.

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
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
/** Runs a check and prints the result. `find` returns the problem, or null; an error counts as a problem. */
async function check(what: string, find: () => Promise<string | null>): Promise<void> {
  const problem = await find().catch((error: unknown) => {
    const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string }
    return `${stdout}${stderr}` || message
  })
  console.log(`${problem === null ? 'passed' : 'FAILED'}  ${what}`)
  if (problem !== null) console.log(problem)
  if (problem !== null) failed += 1
}

/** The text of all pages of docs/. */
const docs = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(`${root}docs/${name}`, 'utf8'))

/** Returns the expected output of the example: the text below the first mention of its main.ts. */
function expectedOf(name: string): string | undefined {
  const text = docs.find((page) => page.includes(`examples/${name}/main.ts`))
  return text?.split(`examples/${name}/main.ts`)[1]?.split('```text\n')[1]?.split('```')[0]
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
  if (!existsSync(`${root}examples/${name}/main.ts`)) continue
  await check(`${name}/main.ts prints what the docs show`, async () => {
    const args = ['--tsconfig', 'examples/tsconfig.json', `examples/${name}/main.ts`]
    const { stdout } = await run(`${root}node_modules/.bin/tsx`, args, {
      cwd: root,
      env: { ...process.env, DATABASE_URL: '', REDIS_URL: '' },
      timeout: TIMEOUT_MS,
    })
    return stdout === expectedOf(name) ? null : `It prints:\n${stdout}`
  })
}
process.exit(failed === 0 ? 0 : 1)
