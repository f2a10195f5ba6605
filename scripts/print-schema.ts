// `npm run schema` writes schema.graphql, the schema as others read it; with --check it writes nothing, and fails where
// the file is not what the code says.

import { readFileSync, writeFileSync } from 'node:fs'
import { printSchema } from 'graphql'
import { schema } from '../src/graphql/schema.ts'

const file = new URL('../schema.graphql', import.meta.url)
const printed = `${printSchema(schema)}\n`

if (!process.argv.includes('--check')) {
  writeFileSync(file, printed)
} else if (readFileSync(file, 'utf8') !== printed) {
  console.error('schema.graphql is not what the code says: run `npm run schema`.')
  process.exitCode = 1
}
