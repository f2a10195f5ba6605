// Writes src/client/generated.ts from schema.graphql. `npm run generate` and `npm run build` run it.

import { readFileSync, writeFileSync } from 'node:fs'
import { buildSchema } from 'graphql'
import { printClientTypes } from './client-types.ts'

const urlOf = (path: string) => new URL(`../${path}`, import.meta.url)

writeFileSync(
  urlOf('src/client/generated.ts'),
  printClientTypes(buildSchema(readFileSync(urlOf('schema.graphql'), 'utf8'))),
)
