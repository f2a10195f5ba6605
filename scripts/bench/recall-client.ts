// The client of the recall benchmark: imports conversations over HTTP, waits for their vectors, and asks the questions.

import { contentOf, sessionsOf, type AnsweredQuestion, type Conversation } from './locomo.ts'

/** Number of turns per call of appendTurns. */
const BATCH = 200
/** Interval between queries for the progress of embedding, ms. */
const POLL_MS = 200
/** Time without a new vector after which waiting fails, ms. */
const STALLED_MS = 60_000
/** Number of hits requested: the largest number that is scored. */
const HITS = 20

type Failed = { code?: string; message?: string }
type OnProgress = (done: number, total: number) => void

/** The answered questions, the number of hits, and the number of hits with a vector. */
export type Answers = { answered: AnsweredQuestion[]; hits: number; withVector: number }

/** An imported conversation: its id on the server, and a map from the server's turn ids to those in the file. */
export type Imported = { conversation: Conversation; conversationId: string; ids: Map<string, string> }

export function createClient(url: string, tenant: string) {
  const headers = { 'content-type': 'application/json', 'x-tenant': tenant, 'x-actor': 'bench' }

  /** Sends an operation and returns the value of its field. @throws Error with the server's message */
  async function ask<T>(field: string, query: string, variables: object = {}): Promise<T> {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query, variables }) })
    const { data, errors } = (await response.json()) as {
      data?: Record<string, T & Failed>
      errors?: { message: string }[]
    }
    const answer = data?.[field]
    const failure = errors?.[0]?.message ?? (answer?.code && `${answer.code}: ${answer.message}`)
    if (failure || !answer) throw new Error(`${field}: ${failure ?? `status ${response.status}`}`)
    return answer
  }

  async function importOne(conversation: Conversation, onProgress: (turns: number) => void): Promise<Imported> {
    const { name, speakers, turns } = conversation
    const { conversation: created } = await ask<{ conversation: { id: string } }>(
      'createConversation',
      `mutation ($input: CreateConversationInput!) {
      createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } ... on UserError { code message } }
    }`,
      { input: { title: name, participants: speakers.map((actor) => ({ actor, displayName: actor })) } },
    )
    const conversationId = created.id
    const ids = new Map<string, string>()
    for (let first = 0; first < turns.length; first += BATCH) {
      const batch = turns.slice(first, first + BATCH)
      const written = await ask<{ turns: { id: string }[] }>(
        'appendTurns',
        `mutation ($input: AppendTurnsInput!) {
        appendTurns(input: $input) { ... on AppendTurnsPayload { turns { id } } ... on UserError { code message } }
      }`,
        {
          input: {
            conversationId,
            turns: batch.map((turn) => ({
              actor: turn.speaker,
              role: 'USER',
              content: contentOf(turn),
              createdAt: turn.at,
              metadata: { id: turn.id },
            })),
          },
        },
      )
      written.turns.forEach(({ id }, index) => ids.set(id, batch[index]!.id))
      onProgress(batch.length)
    }
    return { conversation, conversationId, ids }
  }

  return {
    async import(conversations: Conversation[], onProgress: OnProgress): Promise<Imported[]> {
      const total = conversations.reduce((sum, { turns }) => sum + turns.length, 0)
      let done = 0
      const imported: Imported[] = []
      for (const conversation of conversations) {
        imported.push(await importOne(conversation, (turns) => onProgress((done += turns), total)))
      }
      return imported
    },

    /** Waits until every turn has a vector. Resolves with the embedder's name. */
    async vectors(onProgress: OnProgress): Promise<string> {
      let fewest = Infinity
      let since = performance.now()
      for (;;) {
        const { embedder, done, remaining } = await ask<{ embedder: string; done: number; remaining: number }>(
          'embedding',
          '{ embedding { embedder done remaining } }',
        )
        onProgress(done, done + remaining)
        if (remaining === 0) return embedder
        if (remaining < fewest) [fewest, since] = [remaining, performance.now()]
        if (performance.now() - since > STALLED_MS) {
          throw new Error(`${embedder} has written no vector for ${STALLED_MS / 1000} s; ${remaining} remain.`)
        }
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      }
    },

    /** Recalls turns for each question once, in sequence. */
    async answers(imported: Imported[], onProgress: OnProgress): Promise<Answers> {
      const total = imported.reduce((sum, { conversation }) => sum + conversation.questions.length, 0)
      const answered: AnsweredQuestion[] = []
      let [hits, withVector] = [0, 0]
      for (const { conversation, conversationId, ids } of imported) {
        const sessions = sessionsOf(conversation)
        for (const { question, category, evidence } of conversation.questions) {
          const start = performance.now()
          const result = await ask<{ hits: { similarity: number | null; memory: { id: string } }[] }>(
            'recall',
            `query ($input: RecallInput!) { recall(input: $input) {
              ... on Recall { hits { similarity memory { ... on Turn { id } } } } ... on UserError { code message }
            } }`,
            { input: { query: question, conversationId, scope: 'CONVERSATION', k: HITS } },
          )
          const ms = performance.now() - start
          hits += result.hits.length
          withVector += result.hits.filter(({ similarity }) => similarity !== null).length
          answered.push({
            set: conversation.set,
            file: conversation.name,
            category,
            evidence,
            sessions,
            ms,
            recalled: result.hits.map(({ memory }) => ids.get(memory.id)!),
          })
          onProgress(answered.length, total)
        }
      }
      return { answered, hits, withVector }
    },

    /** Deletes the imported conversations. */
    async remove(imported: Imported[]): Promise<void> {
      for (const { conversationId } of imported) {
        await ask(
          'deleteConversation',
          `mutation ($id: ID!) {
          deleteConversation(input: { conversationId: $id }) { ... on DeleteConversationPayload { receipt { turns } } ... on UserError { code message } }
        }`,
          { id: conversationId },
        )
      }
    },
  }
}
