// The answers of all reads that exist as of a moment, in a form in which the answers of two servers are equal.

import type { Deps } from '../../../../src/domain/deps.ts'
import { historyWithSummaries } from '../../../../src/domain/memory/summary/history.ts'
import { countOfTurns } from '../../../../src/domain/turn/history.ts'
import type { Turn } from '../../../../src/domain/turn/turn.ts'
import { DomainError } from '../../../../src/errors.ts'
import * as domain from '../../../../src/index.ts'
import { MEMBERS } from './random-history.ts'

const QUERIES = ['Where does Ann live?', 'What was at the harbour in May?', 'the bridge of Guest 4', 'secret tulips']

/** Of a streaming turn, only its place is known: its content of that moment is not stored. */
const toStable = (turn: Turn) => {
  const { id, conversationId, seq, position, actor, role, status } = turn
  return turn.status === 'STREAMING' ? { id, conversationId, seq, position, actor, role, status } : turn
}

/** Cursors of recall contain the moment, or the time of the recall. */
const CURSORS = new Set(['startCursor', 'endCursor'])

const isTurn = (item: object): item is Turn => 'abortReason' in item

/** Returns the result of the read, or the name of the expected error. */
async function resultOf(read: () => Promise<unknown>): Promise<unknown> {
  try {
    const result = await read()
    return JSON.parse(
      JSON.stringify(result ?? null, (key, value: unknown) =>
        CURSORS.has(key)
          ? undefined
          : value instanceof Map
            ? [...value]
            : typeof value === 'object' && value !== null && isTurn(value)
              ? toStable(value)
              : typeof value === 'number'
                ? Number(value.toFixed(6))
                : value,
      ),
    ) as unknown
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return error.name
  }
}

/** Reads of one conversation. */
const ofConversation = (deps: Deps, viewer: domain.Viewer, id: string): Record<string, () => Promise<unknown>> => {
  const settings = async () => {
    const found = (await domain.getConversations(deps, viewer, [id])).get(id)
    return found && { lastSeq: found.lastSeq, systemPrompt: found.systemPrompt, owner: found.owner }
  }
  const context = (strategy: 'SIMPLE' | 'HYBRID' | 'SUMMARIZATION', tokenBudget: number) => async () => {
    const given = {
      conversationId: id,
      tokenBudget,
      strategy,
      includeFacts: true,
      includeProfile: true,
      semanticRecall: { k: 3 },
      query: 'Where does Bob live?',
    }
    return domain.buildContext(deps, viewer, given)
  }
  return {
    settings,
    turns: () => domain.pageOfTurns(deps, viewer, [id], { first: 150 }),
    versions: () => domain.pageOfTurns(deps, viewer, [id], { last: 150, includeSuperseded: true }),
    pinned: () => domain.pageOfTurns(deps, viewer, [id], { first: 150, filter: { pinned: true } }),
    since: () => domain.pageOfTurns(deps, viewer, [id], { first: 150, filter: { sinceSeq: 5 } }),
    history: () => domain.history(deps, viewer, [id], { limit: 20 }),
    withSummaries: () => historyWithSummaries(deps, viewer, [id], { limit: 30 }),
    counts: () => countOfTurns(deps, viewer, [id]),
    participants: async () =>
      (await domain.getParticipants(deps, viewer, [id]))
        .get(id)
        ?.map(({ actor, kind, displayName, leftAt }) => ({ actor, kind, displayName, leftAt })),
    summaries: () => domain.getCoveringSummaries(deps, viewer, id),
    facts: () => domain.getFactPages(deps, viewer, [id], { first: 150, includeSuperseded: true }),
    simple: context('SIMPLE', 2_000),
    hybrid: context('HYBRID', 600),
    summarized: context('SUMMARIZATION', 400),
    ...Object.fromEntries(
      QUERIES.map((query) => [
        `recall ${query}`,
        () => domain.recall(deps, viewer, { query, conversationId: id, kinds: ['TURN', 'FACT', 'SUMMARY'], k: 30 }),
      ]),
    ),
  }
}

/** Reads of the tenant. */
const ofTenant = (deps: Deps, viewer: domain.Viewer): Record<string, () => Promise<unknown>> => ({
  facts: () => domain.getFactPage(deps, viewer, { first: 150 }),
  superseded: () => domain.getFactPage(deps, viewer, { first: 150, filter: { includeSuperseded: true } }),
  sources: async () => {
    const { items } = await domain.getFactPage(deps, viewer, { first: 150, filter: { includeSuperseded: true } })
    return domain.getFactSourcePages(
      deps,
      viewer,
      items.map(({ id }) => id),
      { first: 100 },
    )
  },
  profiles: () => domain.getProfiles(deps, viewer, [...MEMBERS]),
  owner: () => domain.recall(deps, viewer, { query: QUERIES[0]!, scope: 'OWNER', k: 30 }),
  tenant: () => domain.recall(deps, viewer, { query: QUERIES[1]!, scope: 'TENANT', k: 30 }),
})

/** Returns the answers in the view of each actor, by the name of the read. */
export async function allReads(
  deps: Deps,
  { tenant, conversations }: { tenant: string; conversations: readonly string[] },
  actors: readonly string[],
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  for (const actor of actors) {
    const viewer = { tenant, actor }
    const reads = Object.entries(ofTenant(deps, viewer)).map(([name, read]) => [`${actor}: ${name}`, read] as const)
    for (const [at, id] of conversations.entries()) {
      for (const [name, read] of Object.entries(ofConversation(deps, viewer, id))) {
        reads.push([`${actor}: conversation ${at}: ${name}`, read])
      }
    }
    for (const [name, read] of reads) answers[name] = await resultOf(read)
  }
  return answers
}
