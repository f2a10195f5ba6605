// `npm run schema` writes the schema to schema.graphql. With --check, it writes nothing and exits with code 1 if the
// file differs from the schema in the code. With --release, it also makes the schema the contract with which later
// schemas are compared (contract.ts).

import { readFileSync, writeFileSync } from 'node:fs'
import { schema } from '../src/graphql/schema.ts'
import { CONTRACT, printContract } from './contract.ts'

const file = new URL('../schema.graphql', import.meta.url)
const printed = printContract(schema)

if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== printed) {
    console.error('schema.graphql is out of date: run `npm run schema`.')
    process.exitCode = 1
  }
} else {
  writeFileSync(file, printed)
  if (process.argv.includes('--release')) writeFileSync(CONTRACT, printed)
}
