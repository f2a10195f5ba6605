// Reads facts. A fact is active until it is superseded; superseded facts are kept with the reason. A viewer sees a fact
// if and only if the viewer sees one of its sources: a turn, or the journal entry of a recordFacts call. A fact that
// was recorded without a conversation is visible to all actors of the tenant.

import { z } from 'zod'
import { ParticipantKind } from '../../../store/generated/enums.ts'
import type { RatedFactRow } from '../../../store/sql/memory/fact/fact-columns.ts'
import {
  pageFacts,
  pageFactsOfConversations,
  readFacts,
  type FactPosition,
} from '../../../store/sql/memory/fact/read-facts.ts'
import { authorize, isWithinReach, requirePermits, withinReach } from '../../kernel/rights/authorize.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import type { Platform } from '../../kernel/platform.ts'
import { kindOf } from '../../kernel/id.ts'
import { id, name, parse, requireStrings, share, text, time } from '../../kernel/input.ts'
import { paging, slice, type Page, type PageRequest, type Paging } from '../../kernel/page.ts'
import type { Viewer } from '../../kernel/view.ts'
import { MAX_LENGTHS, normaliseText } from './content-hash.ts'

/** A fact that a viewer sees, without the columns that determine its visibility and its reconciliation. */
export type Fact = Omit<RatedFactRow, 'position' | 'seq' | 'audience' | 'visibility' | 'assertedAt'>

/** Removes the columns that determine the fact's visibility and its reconciliation. */
export const toFact = ({ position, seq, audience, visibility, assertedAt, ...fact }: RatedFactRow): Fact => fact

/** Returns the given facts that the viewer sees, active or superseded, by id. */
export async function getFacts(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Fact>> {
  authorize(viewer, 'getFacts')
  requireStrings(ids, 'ids')
  const rows = await readFacts(
    db.of(viewer.tenant),
    viewer,
    ids.filter((each) => kindOf(each) === 'fact'),
  )
  const within = rows.filter(({ conversationId }) => isWithinReach(viewer, conversationId))
  return new Map(within.map((row) => [row.id, toFact(row)]))
}

/** Schema of a text to filter by, which is normalised like the stored texts. */
const filterText = (part: 'subject' | 'predicate') => text(MAX_LENGTHS[part]).transform(normaliseText).nullish()

/** Maximum length of the text to search facts for, in characters. */
export const MAX_SEARCH = 200

const factFilter = z.object({
  userId: name.nullish(),
  conversationId: id('conversation').nullish(),
  subject: filterText('subject'),
  predicate: filterText('predicate'),
  text: text(MAX_SEARCH).nullish(),
  observedAfter: time.nullish(),
  observedBefore: time.nullish(),
  minConfidence: share.nullish(),
  minImportance: share.nullish(),
  validAt: time.nullish(),
  saidBy: z.array(z.enum(ParticipantKind)).nullish(),
  includeSuperseded: z.boolean().nullish(),
})
export type FactFilter = z.input<typeof factFilter>
type FactsArgs = Paging & { filter?: FactFilter | null }

const CURSOR = cursorFormat<FactPosition>(
  ({ createdAt, id: fact }) => `${createdAt.getTime()}:${fact}`,
  /^(\d{1,15}):(fact_\w{26})$/,
  (createdAt, fact) => ({ createdAt: new Date(Number(createdAt)), id: fact }),
)

/** Returns an opaque cursor for a fact's position in a list. */
export const factCursor = (fact: Fact): string => CURSOR.encode(fact)

/**
 * Returns the positions and the number of rows to read for a page; one row more than the page shows whether another
 * page follows.
 * @throws InvalidInput
 */
const boundsOf = ({ size, backwards, after, before }: PageRequest) => ({
  after: after === null ? null : CURSOR.decode(after, 'after'),
  before: before === null ? null : CURSOR.decode(before, 'before'),
  backwards,
  limit: size + 1,
})

/**
 * Returns the matching facts that the viewer sees, most recently created first. Concurrent writes never make pages
 * repeat or skip a fact.
 * @throws InvalidInput
 */
export async function getFactPage(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  { filter, ...args }: FactsArgs,
): Promise<Page<Fact>> {
  authorize(viewer, 'getFactPage', { conversationId: filter?.conversationId })
  const page = paging(args, limits.pageSize)
  const { includeSuperseded, ...given } = parse(factFilter, filter ?? {})
  const isOfTenant = given.conversationId == null && given.userId !== viewer.actor
  await requirePermits(db.of(viewer.tenant), viewer, 'getFactPage', {
    conversationId: null,
    conditions: isOfTenant ? ['tenantScope'] : [],
  })
  const rows = await pageFacts(db, viewer, {
    ...given,
    includeSuperseded: includeSuperseded ?? false,
    ...boundsOf(page),
  })
  return slice(rows.map(toFact), page)
}

export type FactsOfConversationArgs = Paging & { includeSuperseded?: boolean | null }

/**
 * Returns a page of facts for each conversation, in the order of `getFactPage`. One SQL statement reads all pages. A
 * conversation without facts, or of another tenant, gets an empty page.
 * @throws InvalidInput
 */
export async function getFactPages(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: FactsOfConversationArgs,
): Promise<Map<string, Page<Fact>>> {
  authorize(viewer, 'getFactPages')
  requireStrings(conversationIds, 'conversationIds')
  const page = paging(args, limits.pageSize)
  const rows = await pageFactsOfConversations(db, viewer, withinReach(viewer, conversationIds), {
    includeSuperseded: args.includeSuperseded ?? false,
    ...boundsOf(page),
  })
  const factsOf = new Map<string, Fact[]>(conversationIds.map((conversationId) => [conversationId, []]))
  for (const { listedIn, ...row } of rows) factsOf.get(listedIn)!.push(toFact(row))
  return new Map([...factsOf].map(([conversationId, facts]) => [conversationId, slice(facts, page)]))
}
