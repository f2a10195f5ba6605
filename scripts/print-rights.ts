// `npm run docs:rights`: writes the tables of rights into docs/rights.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { withRights } from './rights-table.ts'

const page = new URL('../docs/rights.md', import.meta.url)
writeFileSync(page, withRights(readFileSync(page, 'utf8')))
