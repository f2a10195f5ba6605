// The operations of the schema at their documented maximums, and the data that they need.

import { check, newConversation } from './attack.ts'
import type { PostOptions, Target } from './target.ts'

/** A request at a maximum. `next` returns the body of the request, which may be different each time. */
export type Maximum = {
  name: string
  next(): Promise<string> | string
  /** Whether the request writes nothing, so that it may be repeated. */
  isQuery?: boolean
  /** Whether only the first request is expensive, so that repeating it measures nothing. */
  isOnce?: boolean
  options?: PostOptions
}

const KB = 1_000
/** Maximum size of a turn's content, in bytes (the default of MAX_TURN_BYTES). */
const TURN_BYTES = 262_144
const WRITER = 'a-token-of-sixteen-or-more'

const WORDS = 'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore '
const words = (units: number, offset = 0) =>
  WORDS.repeat(Math.ceil(units / WORDS.length) + 1).slice(offset % WORDS.length, (offset % WORDS.length) + units)
const list = <T>(length: number, each: (n: number) => T): T[] => Array.from({ length }, (_, n) => each(n))
const body = (query: string, variables: object) => JSON.stringify({ query, variables })

/** Returns a mutation whose argument `input` has the type `input`. `answer` is the selection of a successful result. */
const mutation = (field: string, input: string, answer: string) =>
  `mutation ($input: ${input}!) { ${field}(input: $input) { __typename ${answer} ... on UserError { message } } }`

const APPEND_TURNS = mutation('appendTurns', 'AppendTurnsInput', '... on AppendTurnsPayload { turns { id seq text } }')
const APPEND = mutation('appendTurn', 'AppendTurnInput', '... on AppendTurnPayload { turn { id text } }')
const RECORD = mutation('recordFacts', 'RecordFactsInput', '... on RecordFactsPayload { facts { id object } }')

/** Sends a mutation. Throws if the reply contains an error. */
async function write(target: Target, query: string, input: object, options: PostOptions = {}): Promise<void> {
  const reply = await target.send(body(query, { input }), { isBatch: true, ...options })
  check(reply.status === 200 && !/"message":/.test(reply.body.slice(0, 2_000)), reply.body.slice(0, 300))
}

/** Creates a conversation with `count` turns and without automatic compaction. Returns its id. */
async function createFilled(
  target: Target,
  owner: string,
  count: number,
  text: (n: number) => string,
): Promise<string> {
  const conversationId = await newConversation(target, { owner, compaction: { strategy: 'NEVER' } })
  const size = Math.max(1, Math.min(1_000, Math.floor(4_000_000 / text(0).length)))
  for (let from = 0; from < count; from += size) {
    const turns = list(Math.min(size, count - from), (n) => ({ role: 'USER', content: text(from + n) }))
    await write(target, APPEND_TURNS.replace('id seq text', 'id'), { conversationId, turns })
  }
  return conversationId
}

/** Ids of the conversations. */
export type MaximumData = {
  /** 100,000 short turns. */
  long: string
  /** 20,000 turns that state facts; the only conversation of its owner. */
  facts: string
  /** 4,900 turns, few enough that recall reads all of them. */
  whole: string
  /** 200 turns of 78 KB: a page ends after 1 MiB, and 50 turns are just below the size limit of `history`. */
  wide: string
  /** Almost 2,000 participants. */
  crowd: string
}

/** Writes the data. `share`, at most 1, scales the number of turns of `long` and `facts`. */
export async function prepareMaximums(target: Target, share: number): Promise<MaximumData> {
  const wide = await createFilled(target, 'walter', 200, (n) => words(78 * KB, n))
  const whole = await createFilled(target, 'wanda', 4_900, (n) => words(200, n))
  const facts = await createFilled(
    target,
    'fanny',
    20_000 * share,
    (n) => `I live in Berlin number ${n}. ${words(60, n)}`,
  )
  const long = await createFilled(target, 'mallory', 100_000 * share, (n) => `${n} ${words(60, n)}`)
  const participants = list(1_000, (n) => ({ actor: `member ${n}` }))
  const crowd = await newConversation(target, { participants, compaction: { strategy: 'NEVER' } })
  const turns = list(1_000, (n) => ({ role: 'USER', actor: `guest ${n}`, content: words(40, n) }))
  await write(target, APPEND_TURNS, { conversationId: crowd, turns: turns.slice(0, 990) })
  for (let user = 0; user < 10; user++) {
    const statements = list(500, (n) => ({
      subject: `user ${user}`,
      predicate: `likes ${n % 50}`,
      object: words(40, n) + n,
    }))
    await write(target, RECORD, { userId: `user ${user}`, facts: statements })
  }
  return { long, facts, whole, wide, crowd }
}

const CONVERSATION = (selection: string) => `query ($id: ID!) { conversation(id: $id) { ${selection} } }`
const RECALL = `query ($input: RecallInput!) { recall(input: $input) { ... on Recall {
  hits { score neighbours { id text } memory { ... on Turn { id text } ... on Fact { id object } ... on Summary { id } } } } } }`
const CONTEXT = `query ($input: BuildContextInput!) { buildContext(input: $input) { ... on Context {
  tokenCount messages { role content } rendered items { kind reason sourceIds } } } }`

/** The queries at their maximums. */
export function maximumQueries(data: MaximumData): Maximum[] {
  const recall = (name: string, input: object) => ({
    name,
    next: () =>
      body(RECALL, {
        input: { query: `who said lorem ipsum dolor? ${words(9 * KB)}`, k: 100, neighbours: 10, ...input },
      }),
  })
  const all = { kinds: ['TURN', 'FACT', 'SUMMARY'] }
  const context = { conversationId: data.long, tokenBudget: 2_000_000, includeFacts: true, includeProfile: true }
  const queries: Maximum[] = [
    {
      name: 'turns: 200 turns of 78 KB',
      next: () => body(CONVERSATION('turns(last: 200) { edges { node { id text } } }'), { id: data.wide }),
    },
    {
      name: 'history: 50 turns, 4 MB',
      next: () => body(CONVERSATION('history(limit: 50) { ... on Turn { id text } }'), { id: data.wide }),
    },
    {
      name: 'turns: 200 turns with every field',
      next: () =>
        body(
          CONVERSATION(
            'turns(last: 200) { edges { cursor node { id seq actor role status text tokenCount createdAt audience pinned metadata parts { __typename } } } }',
          ),
          { id: data.long },
        ),
    },
    {
      name: 'participants with unreadCount',
      next: () =>
        body(CONVERSATION('participants(first: 200) { nodes { actor unreadCount presence } }'), { id: data.crowd }),
    },
    {
      name: 'turnCount and tokenCount',
      next: () => body(CONVERSATION('turnCount tokenCount summaries { nodes { id } }'), { id: data.long }),
    },
    {
      name: 'conversations: 100 with 20 turns each',
      next: () =>
        body(
          '{ conversations(first: 100) { edges { node { id title metadata turns(last: 20) { edges { node { id seq } } } } } } }',
          {},
        ),
    },
    {
      name: 'facts: 200',
      next: () => body('{ facts(first: 200) { edges { node { id subject predicate object } } } }', {}),
    },
    { name: 'jobs: 200', next: () => body('{ jobs(first: 200) { nodes { name state ageSeconds } } }', {}) },
    {
      name: 'memoryAudit',
      next: () => body('{ memoryAudit { activeFacts nearDuplicateRate openContradictions } }', {}),
    },
    recall('recall: one conversation', { conversationId: data.whole, ...all }),
    recall('recall: one long conversation', { conversationId: data.long, ...all }),
    recall('recall: owner', { conversationId: data.facts, scope: 'OWNER', ...all }),
    recall('recall: tenant', { scope: 'TENANT', ...all }),
    { name: 'buildContext: 2,000,000 tokens', next: () => body(CONTEXT, { input: context }) },
    {
      name: 'buildContext: with recall',
      next: () =>
        body(CONTEXT, { input: { ...context, semanticRecall: { k: 100, scope: 'TENANT' }, query: words(10 * KB) } }),
    },
  ]
  return queries.map((query) => ({ ...query, isQuery: true }))
}

/** The mutations at their maximums. Each request writes, so the data grows. */
export function maximumMutations(target: Target, data: MaximumData): Maximum[] {
  const metadata = { text: words(65_000) }
  const turn = (content: string) => ({ role: 'USER', content })
  const append = (name: string, given: object) => ({
    name: `appendTurn: ${name}`,
    next: () => body(APPEND, { input: { conversationId: data.whole, turn: { ...turn(words(TURN_BYTES)), ...given } } }),
  })
  const batch = { isBatch: true }
  let created = 0
  return [
    append('262,144 bytes', {}),
    append('metadata of 65 KB', { metadata }),
    append('262,144 line breaks', { content: '\n'.repeat(TURN_BYTES - 1) + 'x' }),
    append('262,144 letters in one word', { content: 'a'.repeat(TURN_BYTES) }),
    append('1,000 parts', { content: undefined, parts: list(1_000, (n) => ({ text: words(230, n) })) }),
    {
      name: 'appendTurns: 1,000 turns of 15 KB',
      next: () =>
        body(APPEND_TURNS, {
          input: { conversationId: data.whole, turns: list(1_000, (n) => turn(words(15 * KB, n))) },
        }),
      options: batch,
    },
    {
      name: 'supersedeTurn: 262,144 bytes',
      async next() {
        const { turn: first } = await target.get<{ turn: { id: string } }>(APPEND, {
          input: { conversationId: data.whole, turn: turn('first') },
        })
        const input = { turnId: first.id, turn: turn(words(TURN_BYTES)) }
        return body(mutation('supersedeTurn', 'SupersedeTurnInput', '... on SupersedeTurnPayload { turn { id } }'), {
          input,
        })
      },
    },
    {
      name: 'commitTurn: 256 KiB of deltas',
      async next() {
        const input = { conversationId: data.whole, writerToken: WRITER, turn: { role: 'ASSISTANT' } }
        const { turn: open } = await target.get<{ turn: { id: string } }>(
          mutation('openTurn', 'OpenTurnInput', '... on OpenTurnPayload { turn { id } }'),
          { input },
        )
        const delta = { turnId: open.id, writerToken: WRITER, text: words(TURN_BYTES - 10) }
        await target.post(mutation('appendDelta', 'AppendDeltaInput', ''), { input: delta })
        return body(mutation('commitTurn', 'CommitTurnInput', '... on CommitTurnPayload { turn { id text } }'), {
          input: { turnId: open.id, writerToken: WRITER },
        })
      },
    },
    {
      name: 'createConversation: 1,000 participants, 65 KB of metadata',
      next: () =>
        body(
          mutation(
            'createConversation',
            'CreateConversationInput',
            '... on CreateConversationPayload { conversation { id participants { nodes { actor } } } }',
          ),
          {
            input: { metadata, systemPrompt: words(65_000), participants: list(1_000, (n) => ({ actor: `new ${n}` })) },
          },
        ),
    },
    {
      name: 'recordFacts: 1,000',
      next: () => {
        const facts = list(1_000, (n) => ({
          subject: `user ${n % 100}`,
          predicate: `said ${created}`,
          object: words(100, n) + n,
        }))
        created += 1
        return body(RECORD, { input: { userId: 'recorded', facts } })
      },
      options: batch,
    },
    {
      name: 'reconcileFacts: 500',
      next: () => body(mutation('reconcileFacts', 'ReconcileFactsInput', ''), { input: { userId: 'user 1', n: 500 } }),
    },
    {
      name: 'refreshUserProfile: 500 facts',
      next: () =>
        body(mutation('refreshUserProfile', 'RefreshUserProfileInput', ''), {
          input: { userId: 'user 2', recentK: 1_000 },
        }),
    },
    {
      name: 'extractFacts: 1,000 of 20,000 turns',
      next: () =>
        body(mutation('extractFacts', 'ExtractFactsInput', '... on ExtractFactsPayload { facts { id } }'), {
          input: { conversationId: data.facts },
        }),
    },
    {
      name: 'summarize: 20,000 turns',
      next: () =>
        body(mutation('summarize', 'SummarizeInput', '... on SummarizePayload { summary { id } }'), {
          input: { conversationId: data.facts },
        }),
    },
    {
      name: 'compact: 100,000 turns',
      next: () => body(mutation('compact', 'CompactInput', ''), { input: { conversationId: data.long } }),
    },
    {
      name: 'deleteConversation: 4,900 turns',
      next: async () =>
        body(`mutation ($id: ID!) { deleteConversation(input: { conversationId: $id }) { __typename } }`, {
          id: data.whole,
        }),
      isOnce: true,
    },
  ]
}
