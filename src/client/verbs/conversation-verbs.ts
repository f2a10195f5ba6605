// The functions of one conversation that call one verb of the server and return its answer.

import {
  BY_MODEL,
  fieldsOf,
  notFound,
  randomId,
  split,
  type AsOfOption,
  type ConversationName,
  type Page,
  type PageOptions,
  type RequestOptions,
  type SendOptions,
  type With,
} from './calls.ts'
import type { Connection } from '../transport/connection.ts'
import * as documents from './documents.ts'
import { ColloquyError } from '../transport/errors.ts'
import type { UploadedFile } from '../transport/upload.ts'
import type {
  AddParticipantInput,
  Attachment,
  BuildContextInput,
  CompactInput,
  ContextItem,
  ContextMessage,
  ContextFields,
  Conversation,
  ErasureReceipt,
  ExtractFactsInput,
  Fact,
  FactFilter,
  FactInput,
  MessageFormat,
  PageInfo,
  Participant,
  RecallHit,
  RecallInput,
  Run,
  RunTurnInput,
  SharedState,
  SummarizeInput,
  Summary,
  Turn,
  TurnFilter,
  UpdateConversationInput,
  UpdateParticipantInput,
  UpdateSharedStateInput,
} from '../generated.ts'

/** The message list of a context, with its manifest: the sections, and the items that were omitted. */
export type Context<Messages = ContextMessage[]> = ContextFields & { messages: Messages; items: ContextItem[] }

/** A page of hits, best first. */
export type Recall = { hits: RecallHit[]; pageInfo: PageInfo; plan: { vectorSearch: string; candidates: number } }

/** A run, and the turns that it has appended as replies. */
export type RunWithReplies = Run & { replies: Turn[] }

/** The state after a change, null if it was deleted since; and the version and the entry of the change. */
export type ChangedState = { state: SharedState | null; version: number; seq: number; deduplicated: boolean }

/** The functions of a conversation that call one verb. */
export type ConversationVerbs = {
  /** Reads the conversation, with the counts of the actor's view. @throws ColloquyError (NOT_FOUND) */
  read(
    options?: AsOfOption & RequestOptions,
  ): Promise<Conversation & { turnCount: number; tokenCount: number; viewerUnreadCount: number }>
  /** Changes settings of the conversation. @throws ColloquyError */
  update(changes: With<UpdateConversationInput>): Promise<Conversation>
  /** Deletes the conversation permanently. Sent only once. @throws ColloquyError */
  delete(options?: RequestOptions): Promise<{ deletedConversationId: string; receipt: ErasureReceipt }>
  /** Reads a page of turns, oldest first. Defaults to the first 50. @throws ColloquyError */
  turns(
    options?: PageOptions & { filter?: TurnFilter; includeSuperseded?: boolean } & AsOfOption & RequestOptions,
  ): Promise<Page<Turn>>
  /** Finds the turns, facts and summaries of the conversation that are relevant to the query. @throws ColloquyError */
  recall(query: string, options?: Omit<With<RecallInput>, 'query'>): Promise<Recall>
  /**
   * Builds the messages to send to a model, within the token budget. With `format`, they have the form of a provider's
   * API.
   * @throws ColloquyError
   */
  context(options: With<BuildContextInput>): Promise<Context>
  context(options: With<BuildContextInput> & { format: MessageFormat }): Promise<Context<any>>
  /** Reads a page of the summaries, oldest first. @throws ColloquyError */
  summaries(options?: PageOptions & AsOfOption & RequestOptions): Promise<Page<Summary>>
  /** Summarises the turns that no summary covers. Sent only once. @throws ColloquyError */
  summarize(options?: With<SummarizeInput>): Promise<Summary>
  /** Summarises the oldest half of these turns. Sent only once. @throws ColloquyError */
  compact(
    options?: With<CompactInput>,
  ): Promise<{
    summaries: Summary[]
    turnsCovered: number | null
    tokensBefore: number | null
    tokensAfter: number | null
  }>
  /** Reads a page of the facts from the conversation, newest first. @throws ColloquyError */
  facts(
    options?: PageOptions & { filter?: Omit<FactFilter, 'conversationId' | 'conversationKey'> } & AsOfOption
      & RequestOptions,
  ): Promise<Page<Fact>>
  /** Records facts of the conversation, all or none. @throws ColloquyError */
  remember(facts: FactInput | readonly FactInput[], options?: RequestOptions): Promise<Fact[]>
  /** Extracts facts from the turns that were not read before. @throws ColloquyError */
  extractFacts(options?: With<ExtractFactsInput>): Promise<{ facts: Fact[]; hasMore: boolean }>
  /** Reads a page of the participants, in the order in which they joined. @throws ColloquyError */
  participants(options?: PageOptions & AsOfOption & RequestOptions): Promise<Page<Participant>>
  /** Adds a participant, or adds a former one again. @throws ColloquyError */
  addParticipant(participant: AddParticipantInput['participant'], options?: RequestOptions): Promise<Participant>
  /** Changes a participant. @throws ColloquyError */
  updateParticipant(actor: string, changes: Omit<With<UpdateParticipantInput>, 'actor'>): Promise<Participant>
  /** Removes a participant. @throws ColloquyError */
  removeParticipant(actor: string, options?: RequestOptions): Promise<Participant>
  /**
   * Uploads a file for a turn of the actor: give the `id` of the attachment as `attachmentId` of a file part. Repeated
   * after a temporary failure; with the same `clientId`, the file is stored once. `fileName` defaults to the name of a
   * `File`. @throws ColloquyError
   */
  uploadFile(
    file: UploadedFile,
    options?: { fileName?: string; clientId?: string } & Omit<SendOptions, 'once'>,
  ): Promise<Attachment>
  /** Reads the shared state at a key; null if there is none in the view. @throws ColloquyError */
  sharedState(key: string, options?: RequestOptions): Promise<SharedState | null>
  /** Reads a page of the shared state, by key. @throws ColloquyError */
  sharedStates(options?: PageOptions & RequestOptions): Promise<Page<SharedState>>
  /**
   * Creates or changes the shared state at a key, exactly once even if the request is repeated. `sharedStateOf` follows
   * it. @throws ColloquyError
   */
  updateSharedState(input: With<UpdateSharedStateInput>): Promise<ChangedState>
  /** Deletes the shared state at a key. Sent only once. @throws ColloquyError */
  deleteSharedState(key: string, options?: { expectedVersion?: number } & RequestOptions): Promise<void>
  /** Reads a page of the runs of agents, newest first. @throws ColloquyError */
  runs(options?: PageOptions & AsOfOption & RequestOptions): Promise<Page<Run>>
  /**
   * Starts a run of an agent, and resolves when it has ended or waits for a decision or a tool. With `wait: false`,
   * resolves at once. Returns the run, with the turns of the input as they were appended. @throws ColloquyError
   */
  run(input: With<RunTurnInput>): Promise<RunWithReplies & { turns: Turn[] }>
  /**
   * Cancels the runs that have not ended, among the newest 50: all of them, or those of one agent. Whichever process
   * executes a run ends its call of the provider. Returns the cancelled runs. @throws ColloquyError
   */
  stop(options?: { actor?: string } & RequestOptions): Promise<Run[]>
}

/** Yields the run now and after each change, until it has ended. */
export const followRun = (connection: Connection, runId: string, options?: RequestOptions) =>
  connection.subscribe(documents.FOLLOW_RUN, () => ({ runId }), options) as AsyncGenerator<RunWithReplies, void>

/** Returns the run when it no longer runs. */
async function settled(connection: Connection, runId: string, options: RequestOptions): Promise<RunWithReplies> {
  for await (const run of followRun(connection, runId, options)) if (run.state !== 'RUNNING') return run
  options.signal?.throwIfAborted()
  throw new ColloquyError('NOT_FOUND', `There is no run ${JSON.stringify(runId)}, or it is outside the view.`)
}

export function createConversationVerbs(connection: Connection, name: ConversationName): ConversationVerbs {
  const named = fieldsOf(name)
  const { as, mutate, send } = connection
  /** Calls a verb with the input and the name of the conversation. */
  const call = (document: string, given?: object, more?: SendOptions) => {
    const { options, input } = split(given)
    return mutate(document, { ...named, ...input }, { ...options, ...more })
  }
  /** Reads a value of the conversation. */
  const read = async (document: string, given?: object) => {
    const { options, input } = split(given)
    const { conversation } = await send(document, { ...named, as, ...input }, options)
    if (!conversation) throw notFound(name)
    return conversation
  }
  const listOf = (document: string, field: string) => async (options?: object) => (await read(document, options))[field]

  return {
    read: (options) => read(documents.READ_CONVERSATION, options),
    update: async (changes) => (await call(documents.UPDATE_CONVERSATION, changes)).conversation,
    delete: (options) => call(documents.DELETE_CONVERSATION, options, { once: true }),
    turns: listOf(documents.LIST_TURNS, 'turns'),
    recall: (query, options) => call(documents.RECALL, { query, ...options }),
    async context({ format, ...given }: With<BuildContextInput> & { format?: MessageFormat }) {
      if (format === undefined) return call(documents.BUILD_CONTEXT, given)
      const { options, input } = split(given)
      return mutate(documents.RENDER_CONTEXT, { ...named, ...input }, { ...options, variables: { format } })
    },
    summaries: listOf(documents.LIST_SUMMARIES, 'summaries'),
    summarize: async (options) => (await call(documents.SUMMARIZE, options, { ...BY_MODEL, once: true })).summary,
    compact: (options) => call(documents.COMPACT, options, { ...BY_MODEL, once: true }),
    async facts({ filter, signal, ...page } = {}) {
      const variables = { ...page, as, filter: { ...filter, ...named } }
      return (await send(documents.LIST_FACTS, variables, { signal })).facts
    },
    remember: async (facts, options) =>
      (await call(documents.RECORD_FACTS, { facts: [facts].flat(), ...options })).facts,
    extractFacts: (options) => call(documents.EXTRACT_FACTS, options, BY_MODEL),
    participants: listOf(documents.LIST_PARTICIPANTS, 'participants'),
    addParticipant: async (participant, options) =>
      (await call(documents.ADD_PARTICIPANT, { participant, ...options })).participant,
    updateParticipant: async (actor, changes) =>
      (await call(documents.UPDATE_PARTICIPANT, { actor, ...changes })).participant,
    removeParticipant: async (actor, options) =>
      (await call(documents.REMOVE_PARTICIPANT, { actor, ...options })).participant,
    async uploadFile(file, { fileName, clientId = randomId(), ...options } = {}) {
      const attachment = await connection.upload({ name, file, fileName, clientId }, options)
      return { ...attachment, url: connection.resolve(attachment.url) }
    },
    sharedState: async (key, options) => (await read(documents.READ_STATE, { ...options, key })).sharedState,
    sharedStates: listOf(documents.LIST_STATES, 'sharedStates'),
    updateSharedState: (input) => call(documents.UPDATE_STATE, { clientId: randomId(), ...input }),
    deleteSharedState: async (key, options) =>
      void (await call(documents.DELETE_STATE, { key, ...options }, { once: true })),
    runs: listOf(documents.LIST_RUNS, 'runs'),
    async run({ signal, wait = true, ...input }) {
      // The call itself does not wait, because a request has a time limit.
      const started = { clientId: randomId(), ...input, wait: false, signal }
      const { run, turns } = (await call(documents.RUN_TURN, started)) as { run: RunWithReplies; turns: Turn[] }
      return { ...(wait && run.state === 'RUNNING' ? await settled(connection, run.id, { signal }) : run), turns }
    },
    async stop({ actor, signal } = {}) {
      const { nodes } = (await read(documents.LIST_RUNS, { signal })).runs as Page<Run>
      const active = nodes.filter((run) => run.endedAt === null && (actor ?? run.actor) === run.actor)
      const stopped = active.map(({ id: runId }) =>
        mutate(documents.CANCEL_RUN, { runId }, { signal }).then(
          ({ run }) => [run as Run],
          (error: unknown) => {
            // The run has ended meanwhile.
            if (error instanceof ColloquyError && error.code === 'CONFLICT') return []
            throw error
          },
        ),
      )
      return (await Promise.all(stopped)).flat()
    },
  }
}
