// The GraphQL documents of the panel that have more fields than those of the client.

import type {
  Client,
  CompactionStrategy,
  FactFilter,
  Page,
  ParticipantKind,
  RecallInput,
  SupersedeReason,
} from '../../client/index.ts'
import { BY_MODEL } from '../../client/verbs/calls.ts'
import { call, PAGE_INFO, USER_ERROR, type Named, type PlacedTurn } from '../kit/result.ts'

/** A turn, and who wrote it. */
export type TurnRef = PlacedTurn & { id: string; actor: string }

const TURN = 'id position actor conversation { id title }'

type RecalledTurn = TurnRef & { __typename: 'Turn'; text: string; createdAt: string }
type RecalledFact = {
  __typename: 'Fact'
  id: string
  subject: string
  predicate: string
  object: string
  assertedBy: string | null
  observedAt: string
  sourceTurn: PlacedTurn | null
}
type RecalledSummary = {
  __typename: 'Summary'
  id: string
  content: string
  fromPosition: number
  toPosition: number
  createdAt: string
  conversation: Named
}
export type Hit = {
  score: number
  relevance: number
  textScore: number | null
  similarity: number | null
  rerankScore: number | null
  memory: RecalledTurn | RecalledFact | RecalledSummary
}
export type Plan = { vectorSearch: 'APPROXIMATE' | 'EXACT' | 'NONE'; candidates: number; reranked: number }
export type Recalled = { hits: Hit[]; pageInfo: { hasNextPage: boolean; endCursor: string | null }; plan: Plan }

const RECALL = `query Recall($input: RecallInput!) {
  recall(input: $input) {
    ... on Recall {
      hits {
        score relevance textScore similarity rerankScore
        memory {
          __typename
          ... on Turn { ${TURN} text createdAt }
          ... on Fact { id subject predicate object assertedBy observedAt sourceTurn { ${TURN} } }
          ... on Summary { id content fromPosition toPosition createdAt conversation { id title } }
        }
      }
      pageInfo { hasNextPage endCursor }
      plan { vectorSearch candidates reranked }
    }
    ${USER_ERROR}
  }
}`

/** Recalls with the scores of all signals. @throws ColloquyError */
export const readRecall = (client: Client, input: RecallInput, signal?: AbortSignal): Promise<Recalled> =>
  call(client, { document: RECALL, input: { ...input } }, { signal })

type FactSource = { assertedBy: string | null; observedAt: string; conversation: Named | null; turn: TurnRef | null }
export type Statement = { id: string; subject: string; predicate: string; object: string }
/** A fact with its history, its sources and its use. */
export type FactDetails = Statement & {
  confidence: number
  importance: number
  userId: string | null
  saidBy: ParticipantKind
  assertedBy: string | null
  observedAt: string
  validFrom: string | null
  validTo: string | null
  supersededAt: string | null
  supersedeReason: SupersedeReason | null
  supersedeNote: string | null
  restoredAt: string | null
  restoreNote: string | null
  supersededBy: Statement | null
  sources: { nodes: FactSource[]; pageInfo: { hasNextPage: boolean } }
  usedIn: { nodes: TurnRef[]; pageInfo: { hasNextPage: boolean } }
}

const FACTS = `query FactsWithHistory($filter: FactFilter, $first: Int, $after: String, $as: String) {
  facts(filter: $filter, first: $first, after: $after, as: $as) {
    nodes {
      id subject predicate object confidence importance userId saidBy assertedBy observedAt validFrom validTo
      supersededAt supersedeReason supersedeNote restoredAt restoreNote
      supersededBy { id subject predicate object }
      sources(first: 5) {
        nodes { assertedBy observedAt conversation { id title } turn { ${TURN} } }
        pageInfo { hasNextPage }
      }
      usedIn(first: 5) { nodes { ${TURN} } pageInfo { hasNextPage } }
    }
    ${PAGE_INFO}
  }
}`

/** Reads a page of facts, newest first. @throws ColloquyError */
export const readFacts = (
  client: Client,
  variables: { filter: FactFilter; first: number; after: string | null },
  signal?: AbortSignal,
): Promise<Page<FactDetails>> => call(client, { document: FACTS, variables }, { signal })

const UNDO = `mutation UndoReconciliation($input: UndoReconciliationInput!) {
  undoReconciliation(input: $input) { ... on UndoReconciliationPayload { fact { id } otherFacts { id } } ${USER_ERROR} }
}`

/** Makes a fact active again that was merged or contradicted. @throws ColloquyError */
export const undoReconciliation = (
  client: Client,
  factId: string,
  reason: string | null,
): Promise<{ fact: { id: string }; otherFacts: { id: string }[] }> =>
  call(client, { document: UNDO, input: { factId, reason } })

export type Reconciled = { contradicted: number; kept: number; merged: number }

const RECONCILE = `mutation ReconcileFacts($input: ReconcileFactsInput!) {
  reconcileFacts(input: $input) { ... on ReconcileFactsPayload { contradicted kept merged } ${USER_ERROR} }
}`

/** Merges duplicates, and supersedes facts that newer ones contradict. @throws ColloquyError */
export const reconcileFacts = (client: Client, conversationId: string): Promise<Reconciled> =>
  call(client, { document: RECONCILE, input: { conversationId } }, BY_MODEL)

/** How far summaries cover the conversation, and when the next one is written. */
export type Coverage = {
  summarizedThrough: { position: number } | null
  compaction: { strategy: CompactionStrategy; triggerTurns: number; triggerTokens: number; summarizerModel: string }
}

const COVERAGE = `query Coverage($id: ID!, $as: String) {
  conversation(id: $id, as: $as) {
    summarizedThrough { position }
    compaction { strategy triggerTurns triggerTokens summarizerModel }
  }
}`

export const readCoverage = (client: Client, id: string, signal?: AbortSignal): Promise<Coverage | null> =>
  call(client, { document: COVERAGE, variables: { id } }, { signal })
