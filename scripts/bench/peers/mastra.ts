// Mastra's memory on Postgres and pgvector, through its public API and with its default index.

import { loadPeer } from './install.ts'
import { vectorOf } from '../text-embedder.ts'

type Message = {
  id: string
  threadId: string
  resourceId: string
  role: 'user' | 'assistant'
  createdAt: Date
  content: { format: 2; parts: { type: 'text'; text: string }[]; content: string }
}
type SemanticRecall = { topK: number; messageRange: number; scope: 'thread' | 'resource' }
type Options = { lastMessages?: number | false; semanticRecall?: SemanticRecall | false }
type Memory = {
  saveThread(args: { thread: object }): Promise<unknown>
  saveMessages(args: { messages: Message[]; memoryConfig: Options }): Promise<unknown>
  recall(args: {
    threadId: string
    resourceId: string
    perPage?: number
    page?: number
    vectorSearchString?: string
    threadConfig: Options
  }): Promise<{ messages: unknown[] }>
}
type Closable = { close?(): Promise<void>; disconnect?(): Promise<void>; init?(): Promise<void> }
type Constructor<Result> = new (settings: object) => Result

export type Mastra = {
  createThread(id: string, owner: string): Promise<void>
  /** Appends texts in order. With `embedded`, resolves when their vectors are stored. */
  append(thread: string, owner: string, texts: readonly string[], embedded: boolean): Promise<void>
  /** Each read returns the number of messages it found. */
  recall(thread: string, owner: string, query: string, scope: SemanticRecall['scope']): Promise<number>
  context(thread: string, owner: string, query: string): Promise<number>
  page(thread: string, owner: string): Promise<number>
  close(): Promise<void>
}

const recallOptions = (scope: SemanticRecall['scope'], messageRange: number): Options => ({
  semanticRecall: { topK: 10, messageRange, scope },
})

export async function openMastra(connectionString: string): Promise<Mastra> {
  const { Memory } = loadPeer('@mastra/memory') as { Memory: Constructor<Memory> }
  const { PostgresStore, PgVector } = loadPeer('@mastra/pg') as Record<string, Constructor<Closable>>
  const storage = new PostgresStore!({ id: 'bench', connectionString })
  await storage.init!()
  const vector = new PgVector!({ id: 'bench', connectionString })
  const embedder = {
    specificationVersion: 'v2',
    provider: 'bench',
    modelId: 'words',
    maxEmbeddingsPerCall: 1_000,
    supportsParallelCalls: true,
    doEmbed: async ({ values }: { values: string[] }) => ({
      embeddings: values.map((text) => Array.from(vectorOf(text))),
    }),
  }
  const memory = new Memory({ storage, vector, embedder, options: { lastMessages: 20, ...recallOptions('thread', 1) } })
  let number = 0
  const start = Date.UTC(2026, 0, 1)
  return {
    async createThread(id, resourceId) {
      const createdAt = new Date()
      await memory.saveThread({ thread: { id, resourceId, title: 'bench', createdAt, updatedAt: createdAt } })
    },
    async append(threadId, resourceId, texts, embedded) {
      const messages = texts.map((text): Message => {
        number += 1
        return {
          id: `message-${number}`,
          threadId,
          resourceId,
          role: number % 2 ? 'user' : 'assistant',
          createdAt: new Date(start + number * 1_000),
          content: { format: 2, parts: [{ type: 'text', text }], content: text },
        }
      })
      const memoryConfig: Options = embedded ? {} : { semanticRecall: false }
      await memory.saveMessages({ messages, memoryConfig })
    },
    async recall(threadId, resourceId, vectorSearchString, scope) {
      const threadConfig = recallOptions(scope, 0)
      return (await memory.recall({ threadId, resourceId, perPage: 0, vectorSearchString, threadConfig })).messages
        .length
    },
    async context(threadId, resourceId, vectorSearchString) {
      const threadConfig = { lastMessages: 20, ...recallOptions('thread', 1) }
      return (await memory.recall({ threadId, resourceId, vectorSearchString, threadConfig })).messages.length
    },
    async page(threadId, resourceId) {
      const threadConfig: Options = { semanticRecall: false }
      return (await memory.recall({ threadId, resourceId, perPage: 50, page: 0, threadConfig })).messages.length
    },
    async close() {
      await storage.close?.()
      await vector.disconnect?.()
    },
  }
}
