// Which entries complete turns: from such an entry on, the turn has its content. Embedding and the extraction of facts
// process a committed turn at that entry, and at no other.

import { raw, type Sql } from '../../kernel/sql.ts'

/**
 * Whether entry `e` completes its turn, if the turn is committed. A newer version is written complete, or opened and
 * committed by a later entry. Uses the index entry_closed, for newer versions only.
 */
export const COMPLETES: Sql = raw(`(e.kind IN ('APPENDED', 'COMMITTED') OR e.kind = 'SUPERSEDED' AND NOT EXISTS (
  SELECT FROM entry x WHERE x.conversation_id = e.conversation_id AND x.turn_id = e.turn_id AND x.kind = 'COMMITTED'))`)
