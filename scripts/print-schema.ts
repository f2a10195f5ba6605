// `npm run schema` writes the schema to schema.graphql, and the client's types to src/client/generated.ts. With
// --check, it writes nothing, and fails if a file differs from the schema in the code, or if the schema breaks the
// contract of the last release (contract.ts). With --release, it also writes the contract of the version in
// package.json.

import { readFileSync, writeFileSync } from 'node:fs'
import { variables } from '../src/config/config.ts'
import { schema } from '../src/graphql/schema.ts'
import { printClientTypes } from './client-types.ts'
import { CONTRACT, printContract, printRelease, problemsOf, problemsOfRelease, readRelease } from './contract.ts'

type Package = { version: string; scripts: Record<string, string> }

const urlOf = (path: string) => new URL(`../${path}`, import.meta.url)
const read = (url: URL) => readFileSync(url, 'utf8')

/** The expected text of each file, and the command that writes the file. */
const FILES = {
  'schema.graphql': { text: printContract(schema), command: 'npm run schema' },
  'src/client/generated.ts': { text: printClientTypes(schema), command: 'npm run generate' },
}

const { version, scripts } = JSON.parse(read(urlOf('package.json'))) as Package
const next = { version, schema, settings: variables.map(({ name }) => name), scripts: Object.keys(scripts) }
const last = readRelease(read(CONTRACT))
const changelog = read(urlOf('CHANGELOG.md'))
const problems: string[] = []

if (process.argv.includes('--check')) {
  problems.push(...problemsOf(last, next, changelog))
  for (const [path, { text, command }] of Object.entries(FILES)) {
    if (read(urlOf(path)) !== text) problems.push(`${path} is out of date: run \`${command}\`.`)
  }
} else {
  for (const [path, { text }] of Object.entries(FILES)) writeFileSync(urlOf(path), text)
  if (process.argv.includes('--release')) {
    problems.push(...problemsOfRelease(last, next, changelog))
    if (problems.length === 0) writeFileSync(CONTRACT, printRelease(next))
  }
}

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
