// `npm run check:clients`: checks widely used clients and tools of GraphQL, OpenAPI and MCP with this checkout. Lints the
// schema, generates and compiles typed programs, runs them on a server, and kills servers while clients are subscribed.
// Prints a table of all checks. The npm script installs clients/javascript first. With TEST_DATABASE_URL, also kills
// servers on Postgres.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createServerProcess, type Server } from '../test/system/processes.ts'
import { backends, newDataDir } from '../test/support/backend.ts'
import { killUnderClients } from './client-kills.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const directory = `${root}clients/javascript/`

const results: { part: string; check: string; passed: boolean }[] = []
function report(part: string, check: string, passed: boolean): void {
  results.push({ part, check, passed })
  console.log(`${passed ? 'passed' : 'FAILED'}  ${part}: ${check}`)
}

type Output = { code: number | null; lines: string[] }

/** Runs a command, by default in clients/javascript, and collects the lines of its output. */
async function run(
  command: string,
  args: string[],
  cwd = directory,
  env: Record<string, string> = {},
): Promise<Output> {
  const child = spawn(command, args, { cwd, env: { ...process.env, NO_COLOR: '1', ...env }, timeout: 120_000 })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', (line) => lines.push(line))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, lines }
}

const bin = (name: string) => `${directory}node_modules/.bin/${name}`

/** Runs a tool. The check fails if the exit code is not 0 or the tool prints a warning. */
async function runTool(part: string, check: string, name: string, args: string[], cwd = directory): Promise<void> {
  const { code, lines } = await run(bin(name), args, cwd)
  const passed = code === 0 && !lines.some((line) => /\bwarn/i.test(line))
  if (!passed) console.log(lines.join('\n'))
  report(part, check, passed)
}

/** Validates the OpenAPI document of the server, and makes types from it. */
async function checkOpenApi({ url }: Server): Promise<void> {
  const response = await fetch(`http://${url}/api/v1/openapi.json`)
  await writeFile(`${directory}generated/openapi.json`, await response.text())
  await runTool('OpenAPI', 'the document is valid', 'validate-api', ['generated/openapi.json'])
  const output = ['--output', 'generated/openapi.ts']
  await runTool('openapi-typescript', 'writes the types', 'openapi-typescript', ['generated/openapi.json', ...output])
}

async function checkSchema(server: Server): Promise<void> {
  await rm(`${directory}generated`, { recursive: true, force: true })
  await mkdir(`${directory}generated/relay`, { recursive: true }) // relay-compiler requires it
  await checkOpenApi(server)
  await runTool('gql.tada', 'writes the types of the schema', 'gql.tada', [
    'generate-output',
    '-c',
    'urql/tsconfig.json',
  ])
  await runTool('graphql-codegen', 'compiles the documents', 'graphql-codegen', ['--config', 'codegen.ts'])
  await runTool('relay-compiler', 'compiles the documents', 'relay-compiler', [])
  await runTool('recipes', 'are in the documents', 'tsx', ['prepare.ts'])
  await runTool('gql.tada', 'finds no problem', 'gql.tada', ['check', '--fail-on-warn', '-c', 'urql/tsconfig.json'])
  await runTool('TypeScript', 'accepts programs and recipes', 'tsc', ['--noEmit'])
  const linted = ['schema.graphql', 'clients/javascript/{apollo,urql,relay}/*.ts']
  const options = ['--config', 'clients/javascript/eslint.config.js', '--max-warnings', '0']
  await runTool(
    'graphql-eslint',
    'finds no problem in the schema and the documents',
    'eslint',
    [...options, ...linted],
    root,
  )
}

const PROGRAMS = {
  'Apollo Client': 'apollo/program.ts',
  urql: 'urql/program.ts',
  Relay: 'generated/relay-program.ts',
  'openapi-fetch': 'rest/program.ts',
}

/** Runs the typed programs. A program fails if it exits with an error, or prints a line that is not a passed check. */
async function checkPrograms({ url }: Server): Promise<void> {
  for (const [part, file] of Object.entries(PROGRAMS)) {
    const { code, lines } = await run(bin('tsx'), [file], directory, { COLLOQUY: url })
    const other = lines.filter((line) => !line.startsWith('passed '))
    for (const line of lines) if (!other.includes(line)) report(part, line.replace('passed ', ''), true)
    if (code === 0 && other.length === 0) continue
    console.log(other.join('\n'))
    report(part, other[0]?.replace('failed ', '') ?? `exit code ${code}`, false)
  }
}

/** Runs the conformance tests of MCP. The runner fails if other scenarios fail than those that are listed. */
async function checkMcp({ url }: Server): Promise<void> {
  const args = ['server', '--url', `http://${url}/mcp`, '--expected-failures', 'mcp/expected-failures.yml']
  const { code, lines } = await run(bin('conformance'), args)
  const passed = lines.flatMap((line) => /^✓ ([\w-]+): [1-9]\d* passed, 0 failed$/.exec(line)?.[1] ?? [])
  for (const scenario of passed) report('MCP conformance', scenario, true)
  if (code !== 0) console.log(lines.join('\n'))
  report('MCP conformance', 'only the listed scenarios fail', code === 0 && passed.length > 0)
}

const dataDir = await newDataDir()
const server = await createServerProcess({ dataDir })
await server.start()
await checkSchema(server)
// A program cannot be loaded if its artifacts were not compiled.
const isCompiled = results.every(({ passed }) => passed)
if (isCompiled) await checkPrograms(server)
await checkMcp(server)
await server.kill('SIGTERM')
await rm(dataDir, { recursive: true })
for (const counts of await Promise.all(
  (isCompiled ? backends : []).map((backend) => killUnderClients(backend, directory)),
)) {
  for (const { client, check, passed } of counts) report(client, check, passed)
}

const width = Math.max(...results.map(({ part }) => part.length))
console.log()
for (const { part, check, passed } of results)
  console.log(`${passed ? 'passed' : 'FAILED'}  ${part.padEnd(width)}  ${check}`)
process.exit(results.every(({ passed }) => passed) ? 0 : 1)
