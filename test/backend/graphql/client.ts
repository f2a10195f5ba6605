// Runs GraphQL operations on real Deps without a server, with graphql-js, and formats errors as the server does.

import { execute, parse, subscribe, validate, type ExecutionArgs, type ExecutionResult } from 'graphql'
import { vi } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { toGraphQLError } from '../../../src/graphql/kernel/errors.ts'
import { createRequestContext } from '../../../src/graphql/kernel/request.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { enterView } from '../../../src/graphql/kernel/view/enter.ts'
import type { Viewer } from '../../../src/domain/kernel/view.ts'
import type { Backend } from '../../support/backend.ts'
import { useWorld } from '../../support/world.ts'

/** Result data. Untyped, because each test selects different fields. */
export type Answer = any

const LIMITS = loadConfig({}).operationLimits

/** The tenant of all clients. */
export const TENANT = 'acme'

/** Creates clients of TENANT for the tests of a suite. The default actor is ada. */
export function useClients(backend: Backend, settings: Parameters<typeof useWorld>[1] = {}) {
  const world = useWorld(backend, settings)

  async function prepare(requester: string | Viewer, text: string, variableValues?: object) {
    const viewer = typeof requester === 'string' ? { tenant: TENANT, actor: requester } : requester
    const document = parse(text)
    const errors = validate(schema, document)
    if (errors.length) throw errors[0]
    const contextValue = createRequestContext(world.deps, viewer, LIMITS)
    const args = { schema, document, contextValue, variableValues: variableValues as Record<string, unknown> }
    return { args, refused: await enterView(contextValue, args) }
  }
  /** Runs an operation, unless its viewer cannot be determined. */
  async function run<Result>(
    operation: (args: ExecutionArgs) => Result,
    ...given: Parameters<typeof prepare>
  ): Promise<Awaited<Result> | ExecutionResult> {
    const { args, refused } = await prepare(...given)
    return refused ? { errors: [refused] } : await operation(args)
  }
  // Convert the data to JSON and back, because clients receive dates and undefined values in this form.
  const dataOf = (result: ExecutionResult): Answer => {
    if (result.errors) throw result.errors[0]!.originalError ?? result.errors[0]
    return JSON.parse(JSON.stringify(result.data))
  }
  /** Runs an operation for the actor, expects success, and returns its data. */
  const as = (actor: string) => async (document: string, variables?: object) =>
    dataOf(await run(execute, actor, document, variables))
  const ada = as('ada')

  return {
    as,
    get deps() {
      return world.deps
    },
    /** Runs an operation for a viewer with a principal, and returns its data and errors. */
    async answerTo(viewer: Viewer, document: string, variables?: object): Promise<Answer> {
      const operation = document.startsWith('subscription') ? subscribe : execute
      const result = (await run<unknown>(operation, viewer, document, variables)) as ExecutionResult
      return JSON.parse(
        JSON.stringify({ data: result.data, errors: result.errors?.map((each) => toGraphQLError(each) ?? each) }),
      )
    },
    /** Runs an operation that fails, and returns its errors. */
    async failure(document: string, variables?: object): Promise<Answer[]> {
      const operation = document.startsWith('subscription') ? subscribe : execute
      const { errors } = (await run<unknown>(operation, 'ada', document, variables)) as ExecutionResult
      const formatted = errors!.map(
        (error) => toGraphQLError(error) ?? (error.extensions.code ? error : { unexpected: error.message }),
      )
      return JSON.parse(JSON.stringify(formatted))
    },
    /** Subscribes as the actor, and yields event by event. */
    async follow(actor: string, document: string, variables?: object): Promise<AsyncIterableIterator<Answer>> {
      const events = await run(subscribe, actor, document, variables)
      if (!(Symbol.asyncIterator in events)) throw events.errors![0]
      return (async function* () {
        for await (const event of events) yield dataOf(event)
      })()
    },
    /** Creates a conversation with these participants. Its first entries record that they joined. */
    async newConversation(actors: string[], more: object = {}): Promise<string> {
      const { createConversation } = await ada(
        `mutation ($input: CreateConversationInput!) {
        createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } }
      }`,
        { input: { participants: actors.map((actor) => ({ actor })), ...more } },
      )
      return createConversation.conversation.id
    },
    /** Appends one turn by the actor, ada by default. */
    async append(
      conversationId: string,
      content: string,
      { actor, ...more }: { actor?: string; [field: string]: unknown } = {},
    ): Promise<{ id: string; seq: number }> {
      const { appendTurn } = await ada(
        `mutation ($input: AppendTurnInput!) {
        appendTurn(input: $input) { ... on AppendTurnPayload { turn { id seq } } }
      }`,
        { input: { conversationId, as: actor, turn: { role: 'USER', content, ...more } } },
      )
      return appendTurn.turn
    },
    /**
     * The sorted names of the SQL statements that `run` sends, except statements that name turn_vector, fact_vector,
     * embedder or embedding_cursor: the embedding job may send such statements at the same time.
     */
    async statementsOf(run: () => Promise<unknown>): Promise<string[]> {
      const pools = [...new Set([world.deps.pool, world.deps.reads.pool])]
      const queries = pools.map((pool) => vi.spyOn(pool, 'query'))
      await run()
      const calls = queries.flatMap(({ mock }) =>
        mock.calls.map(([call]) => call as unknown as { name?: string; text: string }),
      )
      for (const query of queries) query.mockRestore()
      const isEmbedding = ({ text }: { text: string }) =>
        /\b(embedding_cursor|turn_vector|fact_vector|embedder)\b/.test(text)
      return calls
        .filter((call) => !isEmbedding(call))
        .map(({ name }) => name || 'unnamed')
        .sort()
    },
  }
}

/** The next `count` events of an iterable; fewer if it completes. */
export async function take(events: AsyncIterableIterator<Answer>, count: number): Promise<Answer[]> {
  const taken: Answer[] = []
  while (taken.length < count) {
    const { done, value } = await events.next()
    if (done) break
    taken.push(value)
  }
  return taken
}
