// Recall, the search over turns, facts and summaries: its types, and the query. The domain ranks the hits and limits
// them to the viewer's view.

import { kindOf } from '../domain/id.ts'
import { MAX_PAGED_HITS } from '../domain/recall/recall-cursor.ts'
import { DEFAULT_HITS, MAX_HITS, recall, type Recall as Found, type RecallHit as Hit } from '../domain/recall/recall.ts'
import { actAs } from '../domain/view.ts'
import { InvalidInput, NotAllowed, NotFound } from '../errors.ts'
import { builder } from './builder.ts'
import { PageInfo, type PageShape } from './connection.ts'
import { atConversationIfGiven, conversationRef } from './conversation-ref.ts'
import { readFor } from './inherited-view.ts'
import { orErrors } from './result.ts'
import { RoleEnum } from './turn.ts'

const HITS_PER_RECALL = MAX_PAGED_HITS.toLocaleString('en-US')

export const RecallScopeEnum = builder.enumType('RecallScope', {
  description: 'Which conversations are searched. Of each, the viewer is shown only what is in their view.',
  values: {
    CONVERSATION: { description: 'The one conversation that `conversationId` names.' },
    OWNER: {
      description:
        "The conversations of the owner of the conversation that `conversationId` names; without it, the viewer's own conversations.",
    },
    TENANT: { description: 'Every conversation that the viewer sees.' },
  } as const,
})

const MemoryKindEnum = builder.enumType('MemoryKind', {
  description: 'What kind of thing is remembered.',
  values: {
    TURN: { description: 'Something said, as it was said. Only the newest version of it is found.' },
    FACT: { description: 'A fact that holds, taken from a turn or told by the application.' },
    SUMMARY: {
      description:
        'What the oldest turns of a conversation come to; of very many summaries, the 1,000 newest are looked at.',
    },
  } as const,
})

const VectorSearchEnum = builder.enumType('VectorSearch', {
  description: "How the memories nearest to the query's meaning were looked for.",
  values: {
    EXACT: { description: 'All vectors in scope were compared: none that is near was missed.' },
    APPROXIMATE: { description: 'By an index that may miss some, as is done for many conversations together.' },
    NONE: {
      description: 'Not at all: the embedder knows no word of the query, or could not be reached. Words alone decided.',
    },
  } as const,
})

const recalled = (memory: Hit['memory']) =>
  memory.kind === 'TURN' ? memory.turn : memory.kind === 'FACT' ? memory.fact : memory.summary

const Memory = builder.unionType('Memory', {
  description: 'Something that can be recalled.',
  types: ['Turn', 'Fact', 'Summary'],
  resolveType: ({ id }) => ({ turn: 'Turn', fact: 'Fact', summary: 'Summary' } as Record<string, string>)[kindOf(id)!],
})

const RecallHit = builder
  .objectRef<Hit>('RecallHit')
  .implement({
    description: 'A memory that bears on the query, and how well.',
    fields: (t) => ({
      memory: t.field({
        type: Memory,
        description: 'What was found, in the view that was asked for.',
        resolve: ({ memory }) => recalled(memory),
      }),
      relevance: t.exposeFloat('relevance', {
        description:
          'Estimated probability that the memory is evidence for the query, 0 to 1; 0.5 means as likely as not. '
          + 'Comparable between recalls. Calibrated for the default embedder and for words alone.',
      }),
      score: t.exposeFloat('score', {
        description:
          'Weighted sum of the signals, by which hits are sorted. Comparable within one recall only; see `relevance`.',
      }),
      similarity: t.exposeFloat('similarity', {
        nullable: true,
        description:
          'How near its meaning is to that of the query: the cosine of their vectors, −1 to 1, of a fact the greater '
          + 'of that of its object and that of the whole. Null while it has no vector; a summary never has one.',
      }),
      textScore: t.exposeFloat('textScore', {
        nullable: true,
        description:
          'How well its words, and less so those around it, match those of the query: 0 to 1, 1 being the best match '
          + 'among the candidates of its kind. The best fact or summary has 1 only where it holds all that is asked for. '
          + 'Null where not one matches.',
      }),
      neighbours: t.field({
        type: ['Turn'],
        description:
          'The turns that stand before and after it in its conversation, oldest first and without itself; as many as were '
          + 'asked for, where there are so many. None beside what is no turn.',
        resolve: ({ neighbours }) => neighbours,
      }),
    }),
  })

const RecallPlan = builder
  .objectRef<Found['plan']>('RecallPlan')
  .implement({
    description: 'How an answer was come by.',
    fields: (t) => ({
      vectorSearch: t.field({
        type: VectorSearchEnum,
        description: 'How meaning was compared; it depends on how much there is to search.',
        resolve: ({ vectorSearch }) => vectorSearch,
      }),
      candidates: t.exposeInt('candidates', {
        description: 'Memories that were ranked; the hits are the best of them.',
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
    description: 'What was recalled for a query.',
    fields: (t) => ({
      hits: t.field({
        type: [RecallHit],
        description: 'The most relevant memories, best first: `k` of them if as many match.',
        resolve: ({ hits }) => hits,
      }),
      pageInfo: t.field({
        type: PageInfo,
        description:
          'Whether more hits follow, and the cursor to read them: pass `endCursor` as `after`. Pages go forward only. '
          + `After ${HITS_PER_RECALL} hits, \`hasNextPage\` is false even if more match.`,
        resolve: pageOf,
      }),
      plan: t.field({
        type: RecallPlan,
        description: 'How they were found, for whoever wonders why.',
        resolve: ({ plan }) => plan,
      }),
    }),
  })

const RecallInput = builder.inputType('RecallInput', {
  description: 'What to recall, and where. Of what is given beside the query, a memory has to meet all.',
  fields: (t) => ({
    query: t.string({
      required: true,
      description:
        'A question, or whatever the memories are to be about, in plain words; at most 10,000 characters. It may '
        + 'name a speaker or a time.',
    }),
    k: t.int({
      defaultValue: DEFAULT_HITS,
      description: `Maximum number of hits on this page, 1 to ${MAX_HITS}. Defaults to ${DEFAULT_HITS}.`,
    }),
    after: t.string({
      description:
        'Cursor after which to continue: `pageInfo.endCursor` of the previous page. Null for the first page. Of the other '
        + 'inputs, only `k`, `neighbours` and `maxTokens` may differ between pages. Later pages repeat and skip no hit, '
        + 'even if turns are appended or edited meanwhile, and exclude memories written after the first page. '
        + `The pages of one recall return at most ${HITS_PER_RECALL} hits.`,
    }),
    ...conversationRef(t, 'to search, or whose owner has the conversations to search'),
    scope: t.field({
      type: RecallScopeEnum,
      defaultValue: 'CONVERSATION',
      description: 'How far to search. CONVERSATION needs a conversation.',
    }),
    kinds: t.field({
      type: [MemoryKindEnum],
      defaultValue: ['TURN', 'FACT'],
      description: 'Which kinds of memories to look among.',
    }),
    threshold: t.float({
      description:
        'Minimum `relevance` of a hit of any kind, 0 to 1. Defaults to 0, which excludes nothing; 0.5 selects hits that '
        + 'are more likely evidence than not.',
    }),
    actors: t.stringList({
      description: 'Turns by any of these actors, and facts taken from such turns; an empty list matches none.',
    }),
    roles: t.field({
      type: [RoleEnum],
      description: 'Turns in any of these roles, and facts taken from such turns; an empty list matches none.',
    }),
    createdAfter: t.field({
      type: 'DateTime',
      description: 'Turns and summaries created, and facts observed, at this time or later.',
    }),
    createdBefore: t.field({
      type: 'DateTime',
      description: 'Turns and summaries created, and facts observed, before this time.',
    }),
    metadata: t.field({
      type: 'JSON',
      description:
        'An object: turns whose metadata contains it, that is, has all its keys with these values, at any depth; and '
        + 'facts taken from such turns.',
    }),
    neighbours: t.int({
      defaultValue: 0,
      description: 'Turns to show before, and as many after, each hit: 0 to 10. They are no hits.',
    }),
    maxTokens: t.int({
      description:
        'Maximum number of tokens of the hits and neighbours of a page together. Hits that do not fit are skipped, and '
        + 'are on a later page if they fit there. Null for no limit.',
    }),
    as: t.string({
      description: "In whose view; the viewer's when left out. It holds for all that is selected below.",
    }),
  }),
})

builder.queryField('recall', (t) =>
  t.field({
    type: Recall,
    description:
      'Finds again what was said and what is known: by its words, by its meaning, and by who said it when. What the '
      + 'viewer does not see is not found, and shifts no score.',
    errors: orErrors('Recall', [InvalidInput, NotFound, NotAllowed], 'The recalled memories, or an error.'),
    args: { input: t.arg({ type: RecallInput, required: true, description: 'What to recall, and where.' }) },
    async resolve(_, { input }, context) {
      const { reading, viewer, work } = context
      const given = await atConversationIfGiven(context, input, input.as)
      const found = await work.read(() => recall(reading, viewer, given))
      return readFor(context, actAs(viewer, input.as), found, ({ hits }) =>
        hits.flatMap(({ memory, neighbours }) => [recalled(memory), ...neighbours]),
      )
    },
  }),
)
