// `npm run schema` writes the schema to schema.graphql, and the client's types to src/client/generated.ts. With --check,
// it writes nothing and exits with code 1 if a file differs from the schema in the code. With --release, it also makes
// the schema the contract with which later schemas are compared (contract.ts).

import { readFileSync, writeFileSync } from 'node:fs'
import { schema } from '../src/graphql/schema.ts'
import { printClientTypes } from './client-types.ts'
import { CONTRACT, printContract } from './contract.ts'

const printed = printContract(schema)
const files = { 'schema.graphql': printed, 'src/client/generated.ts': printClientTypes(schema) }
const urlOf = (path: string) => new URL(`../${path}`, import.meta.url)

if (process.argv.includes('--check')) {
  for (const [path, text] of Object.entries(files)) {
    if (readFileSync(urlOf(path), 'utf8') === text) continue
    console.error(`${path} is out of date: run \`npm run schema\`.`)
    process.exitCode = 1
  }
} else {
  for (const [path, text] of Object.entries(files)) writeFileSync(urlOf(path), text)
  if (process.argv.includes('--release')) writeFileSync(CONTRACT, printed)
}
