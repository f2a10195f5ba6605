// `npm run schema` writes the schema to schema.graphql. With --check, it writes nothing and exits with code 1 if the
// file differs from the schema in the code.

import { readFileSync, writeFileSync } from 'node:fs'
import { printSchema } from 'graphql'
import { schema } from '../src/graphql/schema.ts'

const file = new URL('../schema.graphql', import.meta.url)
const printed = `${printSchema(schema)}\n`

if (!process.argv.includes('--check')) {
  writeFileSync(file, printed)
} else if (readFileSync(file, 'utf8') !== printed) {
  console.error('schema.graphql is out of date: run `npm run schema`.')
  process.exitCode = 1
}
