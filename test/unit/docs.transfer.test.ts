// docs/import-and-export.md names the lines, the outcomes, the tables and the programs of the code.

import { describe, expect, it } from 'vitest'
import { LINE_TYPES } from '../../src/domain/trust/transfer/format.ts'
import { PROGRAMS } from '../../src/domain/trust/transfer/foreign/foreign.ts'
import { OUTCOMES } from '../../src/domain/trust/transfer/import/batch.ts'
import { NOT_EXPORTED } from '../support/exported-tables.ts'
import { readDocument, table } from '../support/documents.ts'

const page = readDocument('docs/import-and-export.md')
/** The names in code font in the first column of the table. */
const namesIn = (head: string) =>
  table(page, head).flatMap(([cell]) => [...cell!.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!))

describe('docs/import-and-export.md', () => {
  it.each<[string, string, readonly string[]]>([
    ['lines', '| Line |', LINE_TYPES],
    ['outcomes', '| Outcome |', OUTCOMES],
    ['tables that are not exported', '| Table |', Object.keys(NOT_EXPORTED)],
    ['programs', '| `--from` |', PROGRAMS],
  ])('lists the %s', (_, head, names) => {
    expect(namesIn(head).toSorted()).toEqual([...names].toSorted())
  })
})
