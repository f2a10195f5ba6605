// Indexes turns that have no lexical index entry, such as turns written by an earlier version of the server. New turns
// are indexed when they are written (turn/append.ts).

import { readUnindexedTurns, writeTerms } from '../../../store/sql/memory/indexing/index-turns.ts'
import { salted } from '../../../text/words/term-hash.ts'
import type { Platform } from '../../kernel/platform.ts'
import { backfill } from './backfill.ts'
import { indexEntry, MAX_INDEXED_UNITS } from './index-entry.ts'

/** Indexes the unindexed turns of all tenants and returns the number of turns that it indexed. */
export const indexTurns = ({ db }: Pick<Platform, 'db'>): Promise<number> =>
  backfill({
    read: (limit) => readUnindexedTurns(db, limit, MAX_INDEXED_UNITS),
    entryOf({ id, actor, text, createdAt, salt }) {
      const { terms, cues } = indexEntry(actor, text, { at: createdAt })
      return { id, terms: salted(terms, salt), cues }
    },
    write: (turns) => writeTerms(db, turns),
  })
