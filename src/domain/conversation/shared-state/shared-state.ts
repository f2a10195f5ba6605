// The shared state of conversations: JSON values by key, which people and agents change together. Its limits, and reads
// in the view of a viewer.

import {
  pageSharedStates,
  readSharedStates,
  type SharedStateRow,
  type StateKey,
} from '../../../store/sql/conversation/shared-state/read-shared-states.ts'
import { authorize, isWithinReach, withinReach } from '../../kernel/rights/authorize.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { requireStrings, storable } from '../../kernel/input.ts'
import { paging, slice, type Page, type Paging } from '../../kernel/page.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

export type SharedState = SharedStateRow

/** Maximum number of keys of a conversation. */
export const MAX_KEYS = 100
/** Maximum size of a value, in bytes of JSON. */
export const VALUE_BYTES = 256 * 1024
/** Maximum size of all values of a conversation, in bytes of JSON. */
export const TOTAL_BYTES = 1024 * 1024
/** Time limit of the check of a value against its schema, ms. The journal of the conversation is locked meanwhile. */
export const CHECK_MS = 50
/** Maximum number of actors who change a key. */
export const MAX_WRITERS = 1_000
/** Maximum size of the values on a page, in bytes of JSON, for all conversations that are read together. */
const PAGE_BYTES = 1024 * 1024
/** Maximum number of operations of a patch. */
export const MAX_OPERATIONS = 1_000
/** Maximum size of a patch, in bytes of JSON. */
export const PATCH_BYTES = 256 * 1024
/** Number of newest changes of each key whose patches are kept, and maximum size of a kept patch, in bytes of JSON. */
export const KEPT_PATCHES = { changes: 100, bytes: 32 * 1024 }

const stateKey = ({ conversationId, key }: StateKey) => `${conversationId} ${key}`

/** Returns the state of each key in the viewer's view, in order; null if there is none that the viewer sees. */
export async function getSharedStates(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  keys: readonly StateKey[],
): Promise<(SharedState | null)[]> {
  authorize(viewer, 'getSharedStates')
  requireStrings(
    keys.map(({ key }) => key),
    'keys',
  )
  const readable = keys.filter(({ conversationId, key }) => isWithinReach(viewer, conversationId) && !storable(key))
  const rows = readable.length > 0 ? await readSharedStates(pool, viewer, readable) : []
  const byKey = new Map(rows.map((row) => [stateKey(row), row]))
  return keys.map((key) => byKey.get(stateKey(key)) ?? null)
}

const CURSOR = cursorFormat<{ key: string }>(
  ({ key }) => `state:${key}`,
  /^state:(.{1,200})$/su,
  (key) => ({ key }),
)
export const stateCursor = (state: SharedState): string => CURSOR.encode(state)

/** Returns a page of each conversation's states that the viewer sees, by the code points of their keys. @throws InvalidInput */
export async function getSharedStatePages(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: Paging,
): Promise<Map<string, Page<SharedState>>> {
  authorize(viewer, 'getSharedStatePages')
  requireStrings(conversationIds, 'conversationIds')
  const page = paging(args, limits.pageSize)
  const keyOf = (cursor: string | null, name: string) => (cursor === null ? null : CURSOR.decode(cursor, name).key)
  const rows = await pageSharedStates(db, viewer, withinReach(viewer, conversationIds), {
    limit: page.size + 1,
    // Each conversation has space for at least one value.
    maxBytes: Math.max(VALUE_BYTES, Math.floor(PAGE_BYTES / Math.max(1, conversationIds.length))),
    after: keyOf(page.after, 'after'),
    before: keyOf(page.before, 'before'),
    backwards: page.backwards,
  })
  const statesOf = new Map<string, typeof rows>(conversationIds.map((conversationId) => [conversationId, []]))
  for (const row of rows) statesOf.get(row.conversationId)!.push(row)
  return new Map([...statesOf].map(([id, states]) => [id, slice<SharedState>(states, page, states[0]?.isCut)]))
}
