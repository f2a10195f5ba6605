// Facts and reading them. A fact is active until another one supersedes it; superseded facts are kept with the reason. The
// viewers who see a fact's source turn see the fact, and no others do.

import { z } from 'zod'
import type { FactRow } from '../../store/sql/fact/fact-columns.ts'
import { listFacts, listFactsOfConversations, readFacts, type FactPlace } from '../../store/sql/fact/read-facts.ts'
import { cursorFormat } from '../cursor.ts'
import type { Platform } from '../platform.ts'
import { kindOf } from '../id.ts'
import { id, name, parse, text } from '../input.ts'
import { paging, slice, type Page } from '../page.ts'
import type { Viewer } from '../view.ts'
import { LONGEST, normaliseText } from './content-hash.ts'

/** A fact that a viewer sees, without the columns that decide who sees it. */
export type Fact = Omit<FactRow, 'rootSeq' | 'seq' | 'audience' | 'visibility'>

const toFact = ({ rootSeq, seq, audience, visibility, ...fact }: FactRow): Fact => fact

/** Those of the facts that the viewer sees, superseded or not, keyed by id. */
export async function getFacts(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Fact>> {
  const rows = await readFacts(
    db,
    viewer,
    ids.filter((each) => kindOf(each) === 'fact'),
  )
  return new Map(rows.map((row) => [row.id, toFact(row)]))
}

/**
 * Of the facts with those ids, the ones that the viewer sees and that are still known from that conversation, in the
 * order of the ids. A fact that was repeated in another conversation is known from there.
 */
export async function getFactsKnownFrom(
  deps: Pick<Platform, 'db'>,
  viewer: Viewer,
  conversationId: string,
  ids: readonly string[],
): Promise<Fact[]> {
  const facts = await getFacts(deps, viewer, ids)
  return ids.flatMap((each) => facts.get(each) ?? []).filter((fact) => fact.conversationId === conversationId)
}

/** Spelt as facts are stored. */
const said = (part: 'subject' | 'predicate') => text(LONGEST[part]).transform(normaliseText).nullish()

const factFilter = z.object({
  userId: name.nullish(),
  conversationId: id('conversation').nullish(),
  subject: said('subject'),
  predicate: said('predicate'),
  includeSuperseded: z.boolean().nullish(),
})
export type FactFilter = z.input<typeof factFilter>
type FactsArgs = { filter?: FactFilter | null; first?: number | null; after?: string | null }

const CURSOR = cursorFormat<FactPlace>(
  ({ createdAt, id: fact }) => `${createdAt.getTime()}:${fact}`,
  /^(\d{1,15}):(fact_\w{26})$/,
  (createdAt, fact) => ({ createdAt: new Date(Number(createdAt)), id: fact }),
)

/** A fact's place in a list, as an opaque cursor. */
export const factCursor = (fact: Fact): string => CURSOR.encode(fact)

/**
 * The viewer's facts that match, newest first by when they were written down. No page repeats or misses one, whatever
 * is written meanwhile.
 * @throws InvalidInput
 */
export async function getFactPage(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  { filter, ...args }: FactsArgs,
): Promise<Page<Fact>> {
  const page = paging(args, limits.pageSize)
  const { includeSuperseded, ...given } = parse(factFilter, filter ?? {})
  const after = page.after === null ? null : CURSOR.decode(page.after, 'after')
  const rows = await listFacts(db, viewer, {
    ...given,
    includeSuperseded: includeSuperseded ?? false,
    after,
    limit: page.size + 1,
  })
  return slice(rows.map(toFact), page)
}

export type FactsOfConversationArgs = {
  first?: number | null
  after?: string | null
  includeSuperseded?: boolean | null
}

/**
 * A page of the facts of each conversation, as `getFactPage`: one statement for the whole list. A conversation that has none, or that
 * the viewer's tenant has not, gets an empty page.
 * @throws InvalidInput
 */
export async function getFactPages(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: FactsOfConversationArgs,
): Promise<Map<string, Page<Fact>>> {
  const page = paging(args, limits.pageSize)
  const rows = await listFactsOfConversations(db, viewer, conversationIds, {
    includeSuperseded: args.includeSuperseded ?? false,
    after: page.after === null ? null : CURSOR.decode(page.after, 'after'),
    limit: page.size + 1,
  })
  const found = new Map<string, Fact[]>(conversationIds.map((conversationId) => [conversationId, []]))
  for (const row of rows) found.get(row.conversationId!)!.push(toFact(row))
  return new Map([...found].map(([conversationId, facts]) => [conversationId, slice(facts, page)]))
}
