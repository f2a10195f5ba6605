// Recall, the search over turns, facts and summaries: its types, and the query. The domain ranks the hits and limits
// them to the viewer's view.

import { HITS, MAX_HITS } from '../../domain/kernel/call-defaults.ts'
import { kindOf } from '../../domain/kernel/id.ts'
import type { RecallHit as Hit } from '../../domain/memory/recall/hit.ts'
import { MAX_PAGED_HITS } from '../../domain/memory/recall/recall-cursor.ts'
import {
  onlyConversation,
  MAX_NEIGHBOURS,
  MAX_QUERY,
  recall,
  type Recall as Found,
} from '../../domain/memory/recall/recall.ts'
import { MAX_SUMMARIES } from '../../domain/memory/recall/summaries.ts'
import { InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { asOfField, enterPast } from './as-of.ts'
import { builder } from '../kernel/builder.ts'
import { PageInfo, type PageShape } from '../kernel/connection.ts'
import { atConversationIfGiven, conversationRef } from '../conversation/conversation-ref.ts'
import { MetadataFilter, METADATA_FILTER_LIMITS } from '../kernel/metadata.ts'
import { readOnReplica } from '../kernel/request.ts'
import { orErrors } from '../kernel/errors.ts'
import { RoleEnum } from '../turn/turn.ts'

const HITS_PER_RECALL = MAX_PAGED_HITS.toLocaleString('en-US')

export const RecallScopeEnum = builder.enumType('RecallScope', {
  description: "Conversations to search. In each, only memories in the viewer's view are found.",
  values: {
    CONVERSATION: { description: 'Only the conversation given in the input.' },
    OWNER: {
      description:
        'The conversations of the owner of the given conversation, and the facts about this owner. Without '
        + 'a conversation, the viewer is the owner.',
    },
    TENANT: { description: 'All conversations that the viewer sees, and facts recorded without a conversation.' },
  } as const,
})

const MemoryKindEnum = builder.enumType('MemoryKind', {
  description: 'Kind of memory to search.',
  values: {
    TURN: { description: 'A committed turn, in its newest version.' },
    FACT: { description: 'An active fact.' },
    SUMMARY: {
      description:
        "A current summary of a conversation's oldest turns. Only the "
        + `${MAX_SUMMARIES.toLocaleString('en-US')} newest summaries that match the filters are searched, by `
        + 'words only.',
    },
  } as const,
})

const VectorSearchEnum = builder.enumType('VectorSearch', {
  description: 'Method by which the vectors of turns and facts were compared with the vector of the query.',
  values: {
    EXACT: { description: 'All vectors in scope were compared.' },
    APPROXIMATE: {
      description: 'An index was searched, which may miss similar turns. Used if many turns are in scope.',
    },
    NONE: {
      description:
        'No vectors were compared, so memories were found by words only. The embedder returned no vector for '
        + 'the query or was unavailable, or nothing with vectors was in scope.',
    },
  } as const,
})

const recalled = (memory: Hit['memory']) =>
  memory.kind === 'TURN' ? memory.turn : memory.kind === 'FACT' ? memory.fact : memory.summary

const Memory = builder.unionType('Memory', {
  description: 'A turn, a fact or a summary that recall can return.',
  types: ['Turn', 'Fact', 'Summary'],
  resolveType: ({ id }) => ({ turn: 'Turn', fact: 'Fact', summary: 'Summary' } as Record<string, string>)[kindOf(id)!],
})

const RecallHit = builder
  .objectRef<Hit>('RecallHit')
  .implement({
    description: 'A memory that is relevant to the query, with its scores.',
    fields: (t) => ({
      memory: t.field({
        type: Memory,
        description: 'The recalled turn, fact or summary, in the view of the recall.',
        sharing: 'SHAREABLE',
        resolve: ({ memory }) => recalled(memory),
      }),
      relevance: t.exposeFloat('relevance', {
        description:
          'Estimated probability that the memory is evidence for the query, 0 to 1. Comparable between '
          + 'recalls. Calibrated for the default embedder and for search by words only.',
      }),
      score: t.exposeFloat('score', {
        description:
          'Weighted sum of the ranking signals. Hits without a `rerankScore` are sorted by it, highest first. '
          + 'Comparable only within one recall; see `relevance`.',
      }),
      rerankScore: t.exposeFloat('rerankScore', {
        nullable: true,
        description:
          'Score of the reranker, on the scale of its model. Hits with one are sorted by it, highest first, and '
          + 'come before the others. Null if the reranker has not scored the memory; always null if none is '
          + 'configured.',
      }),
      similarity: t.exposeFloat('similarity', {
        nullable: true,
        description:
          'Cosine of the vectors of the query and the memory, −1 to 1; for a fact, the greater of the '
          + 'cosines of its object and of the whole statement. Null if the query or the memory has no '
          + 'vector; summaries never have one.',
      }),
      textScore: t.exposeFloat('textScore', {
        nullable: true,
        description:
          'Word match relative to the best match of the same kind, 0 to 1. The words of neighbouring turns '
          + "count less than the turn's own. The best match has 1 only if it contains all words of the query. "
          + 'Null if no word matches.',
      }),
      neighbours: t.field({
        type: ['Turn'],
        description:
          'The turns before and after the recalled turn in its conversation, oldest first, without the '
          + 'turn itself: up to `RecallInput.neighbours` on each side. Empty for facts and summaries.',
        sharing: 'SHAREABLE',
        resolve: ({ neighbours }) => neighbours,
      }),
    }),
  })

const RecallPlan = builder
  .objectRef<Found['plan']>('RecallPlan')
  .implement({
    description: 'Search method and number of candidates, for diagnosis.',
    fields: (t) => ({
      vectorSearch: t.field({
        type: VectorSearchEnum,
        description: 'Method by which vectors were compared. It depends on the number of turns in scope.',
        sharing: 'SHAREABLE',
        resolve: ({ vectorSearch }) => vectorSearch,
      }),
      candidates: t.exposeInt('candidates', {
        description: 'Number of memories that were ranked. The hits are the best of them.',
      }),
      reranked: t.exposeInt('reranked', {
        description:
          'Number of the candidates that the reranker scored. 0 if none is configured, if it has failed, or if '
          + 'earlier pages contain all that it would score.',
      }),
    }),
  })

/** A page of the hits. Its cursors are computed already, because they depend on all hits before them. */
const pageOf = ({ hasNextPage, hasPreviousPage, startCursor, endCursor }: Found): PageShape => ({
  page: { items: endCursor === null ? [] : [startCursor, endCursor], hasNextPage, hasPreviousPage },
  cursorOf: String,
})

const Recall = builder
  .objectRef<Found>('Recall')
  .implement({
    description: 'Result of a recall: one page of hits.',
    fields: (t) => ({
      hits: t.field({
        type: [RecallHit],
        description: 'The most relevant memories, best first: at most `k`.',
        sharing: 'SHAREABLE',
        resolve: ({ hits }) => hits,
      }),
      pageInfo: t.field({
        type: PageInfo,
        description:
          'Whether more hits follow, and the cursor to read them: pass `endCursor` as `after`. Pages go '
          + `forward only. After ${HITS_PER_RECALL} hits, \`hasNextPage\` is false even if more match.`,
        sharing: 'SHAREABLE',
        resolve: pageOf,
      }),
      plan: t.field({
        type: RecallPlan,
        description: 'Search method and number of candidates, for diagnosis.',
        sharing: 'SHAREABLE',
        resolve: ({ plan }) => plan,
      }),
    }),
  })

const RecallInput = builder.inputType('RecallInput', {
  description: 'Input of recall: the query, the scope, and filters. A memory must meet all filters that are given.',
  fields: (t) => ({
    query: t.string({
      required: true,
      description:
        `A question or a topic, in plain words; at most ${MAX_QUERY.toLocaleString('en-US')} characters. `
        + 'It may name an author or a time.',
    }),
    k: t.int({
      extensions: { usualSize: HITS.recall },
      description:
        `Maximum number of hits on this page, 1 to ${MAX_HITS}. Defaults to \`CallDefaults.recallHits\` of the tenant, which `
        + `defaults to ${HITS.recall}.`,
    }),
    after: t.string({
      description:
        'Cursor after which to continue: `pageInfo.endCursor` of the previous page. Null for the first '
        + 'page. Of the other inputs, only `k`, `neighbours` and `maxTokens` may differ between pages. Later '
        + 'pages repeat and skip no hit, even if turns are appended or edited meanwhile, and exclude '
        + `memories written after the first page. The pages of one recall return at most ${HITS_PER_RECALL} `
        + 'hits.',
    }),
    ...conversationRef(t, 'to search, or whose owner has the conversations to search'),
    scope: t.field({
      type: RecallScopeEnum,
      defaultValue: 'CONVERSATION',
      description: 'Conversations to search. Defaults to CONVERSATION, which requires a conversation.',
    }),
    kinds: t.field({
      type: [MemoryKindEnum],
      defaultValue: ['TURN', 'FACT'],
      description: 'Kinds of memories to search. Defaults to TURN and FACT.',
    }),
    threshold: t.float({
      description:
        'Minimum `relevance` of a hit of any kind, 0 to 1; 0.5 selects hits that are more likely '
        + 'evidence than not. Defaults to `CallDefaults.recallThreshold` of the tenant, which defaults to 0 and then excludes '
        + 'nothing.',
    }),
    actors: t.stringList({
      description:
        'Only turns by any of these actors, and facts whose source turn is such a turn; excludes '
        + 'summaries. An empty list matches none. Null for all actors.',
    }),
    roles: t.field({
      type: [RoleEnum],
      description:
        'Only turns in any of these roles, and facts whose source turn is such a turn; excludes summaries. '
        + 'An empty list matches none. Null for all roles.',
    }),
    createdAfter: t.field({
      type: 'DateTime',
      description: 'Only turns and summaries created, and facts observed, at this time or later.',
    }),
    createdBefore: t.field({
      type: 'DateTime',
      description: 'Only turns and summaries created, and facts observed, before this time.',
    }),
    metadata: t.field({
      type: [MetadataFilter],
      description:
        'Only turns whose metadata meets these conditions, and facts whose source turn is such a turn; excludes '
        + `summaries. ${METADATA_FILTER_LIMITS}`,
    }),
    neighbours: t.int({
      defaultValue: 0,
      description:
        `Maximum number of turns to return before and after each recalled turn, 0 to ${MAX_NEIGHBOURS}. `
        + 'Defaults to 0. They do not count as hits.',
    }),
    maxTokens: t.int({
      description:
        'Maximum number of tokens of the hits and neighbours of a page together. Hits that do not fit are skipped, and '
        + 'are on a later page if they fit there. Null for no limit.',
    }),
    ...asOfField(t),
    ...asField(t, 'Actor in whose view to search.'),
  }),
})

builder.queryField('recall', (t) =>
  t.field({
    verb: 'recall',
    type: Recall,
    description:
      'Searches turns, facts and summaries for the memories that are most relevant to a query: by words, '
      + 'by meaning, and by the author or time that the query names. Memories outside the view are not found '
      + 'and do not affect scores.',
    errors: orErrors('Recall', [InvalidInput, NotFound, NotAllowed], 'The recalled memories, or an error.'),
    args: { input: t.arg({ type: RecallInput, required: true, description: 'The query, the scope, and filters.' }) },
    async resolve(_, { input }, context, info) {
      const given = await atConversationIfGiven(context, input)
      await enterPast(context, info, input.asOf, given.conversationId)
      return readOnReplica(context, onlyConversation(given), (deps) => recall(deps, context.viewer, given))
    },
  }),
)
