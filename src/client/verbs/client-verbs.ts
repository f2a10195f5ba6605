// The functions of a client that call one verb of the server and return its answer.

import {
  BY_MODEL,
  randomId,
  split,
  type AsOfOption,
  type Page,
  type PageOptions,
  type RequestOptions,
  type SendOptions,
  type With,
} from './calls.ts'
import type { Connection } from '../transport/connection.ts'
import { followRun, type Context, type Recall, type RunWithReplies } from './conversation-verbs.ts'
import * as documents from './documents.ts'
import type {
  Approval,
  ApprovalState,
  ClaimTurnInput,
  ConversationFilter,
  ConversationOrder,
  ErasureReceipt,
  Fact,
  FactFilter,
  ListedConversation,
  RecallInput,
  ResolveApprovalInput,
  Run,
  Turn,
  UserProfile,
} from '../generated.ts'

/** An approval, with the call that it is about. */
export type RequestedApproval = Approval & {
  arguments: any
  reason: string | null
  callHash: string | null
  turn: { id: string }
}

/** The functions of a client that call one verb. */
export type ClientVerbs = {
  /** Reads a page of the conversations that the actor sees, newest first. @throws ColloquyError */
  findConversations(
    options?: PageOptions & { filter?: ConversationFilter; orderBy?: ConversationOrder } & RequestOptions,
  ): Promise<Page<ListedConversation>>
  /** Finds what is relevant to the query in all conversations of the `scope`. @throws ColloquyError */
  recall(
    query: string,
    options: Omit<With<RecallInput>, 'query' | 'scope'> & { scope: NonNullable<RecallInput['scope']> },
  ): Promise<Recall>
  /** Reads the profile of a user; null if there is none that the actor sees. @throws ColloquyError */
  profile(userId: string, options?: AsOfOption & RequestOptions): Promise<UserProfile | null>
  /** Updates the profile of a user from the facts about it. @throws ColloquyError */
  refreshProfile(userId: string, options?: RequestOptions): Promise<UserProfile>
  /** Reads a page of the facts that the actor sees, newest first. @throws ColloquyError */
  facts(options?: PageOptions & { filter?: FactFilter } & AsOfOption & RequestOptions): Promise<Page<Fact>>
  /** Retracts a fact. @throws ColloquyError */
  retractFact(factId: string, options?: { reason?: string } & RequestOptions): Promise<Fact>
  /** Erases the content of a turn permanently. @throws ColloquyError */
  eraseTurn(turnId: string, options?: RequestOptions): Promise<{ turn: Turn; receipt: ErasureReceipt }>
  /**
   * Reads a context that was stored with `store`, as it was when it was built; null if the actor has no such context.
   * @throws ColloquyError
   */
  readContext(contextId: string, options?: RequestOptions): Promise<Context | null>
  /** Reads a run; null if the actor sees no such run. @throws ColloquyError */
  readRun(runId: string, options?: RequestOptions): Promise<RunWithReplies | null>
  /** Yields the run now and after each change, until it has ended. @throws ColloquyError */
  followRun(runId: string, options?: RequestOptions): AsyncGenerator<RunWithReplies, void>
  /**
   * Claims the right to answer a turn. Pass `claimToken` to `append` or `write` with the `replyToId`. Not needed with
   * `answer`, which claims the turns that it answers. @throws ColloquyError (CONFLICT)
   */
  claimTurn(
    turnId: string,
    options?: Partial<With<ClaimTurnInput>>,
  ): Promise<{ claimToken: string; expiresAt: string | null }>
  /** Sets the time at which a claim expires. @throws ColloquyError (CONFLICT) */
  renewClaim(
    turnId: string,
    claimToken: string,
    options?: { ttlSeconds?: number } & RequestOptions,
  ): Promise<{ expiresAt: string | null }>
  /** Ends a claim without an answer. @throws ColloquyError (CONFLICT) */
  releaseClaim(
    turnId: string,
    claimToken: string,
    options?: { dismiss?: boolean } & RequestOptions,
  ): Promise<{ expiresAt: string | null }>
  /** Ends a run that is running or waits. @throws ColloquyError */
  cancelRun(runId: string, options?: RequestOptions): Promise<Run>
  /** Reads a page of the approvals of all conversations, newest first. @throws ColloquyError */
  approvals(
    options?: PageOptions & { conversationId?: string; state?: ApprovalState } & RequestOptions,
  ): Promise<Page<RequestedApproval>>
  /** Approves or denies a tool call. @throws ColloquyError */
  resolveApproval(
    approvalId: string,
    decision: ResolveApprovalInput['decision'],
    options?: Omit<With<ResolveApprovalInput>, 'approvalId' | 'decision'>,
  ): Promise<Approval>
}

export function createClientVerbs(connection: Connection): ClientVerbs {
  const { as, mutate, send } = connection
  const call = (document: string, given?: object, more?: SendOptions) => {
    const { options, input } = split(given)
    return mutate(document, input, { ...options, ...more })
  }
  const read = async (document: string, given?: object) => {
    const { options, input } = split(given)
    return Object.values(await send(document, { as, ...input }, options))[0]
  }
  return {
    findConversations: (options) => read(documents.FIND_CONVERSATIONS, options),
    recall: (query, options) => call(documents.RECALL, { query, ...options }),
    profile: (userId, options) => read(documents.READ_PROFILE, { userId, ...options }),
    refreshProfile: async (userId, options) =>
      (await call(documents.REFRESH_PROFILE, { userId, ...options }, BY_MODEL)).userProfile,
    facts: (options) => read(documents.LIST_FACTS, options),
    retractFact: async (factId, options) => (await call(documents.RETRACT_FACT, { factId, ...options })).fact,
    eraseTurn: (turnId, options) => call(documents.ERASE_TURN, { turnId, ...options }),
    readContext: (contextId, options) => read(documents.READ_CONTEXT, { contextId, ...options }),
    readRun: (runId, options) => read(documents.READ_RUN, { runId, ...options }),
    followRun: (runId, options) => followRun(connection, runId, options),
    async claimTurn(turnId, options) {
      const claimToken = options?.claimToken ?? randomId()
      const { claim } = await call(documents.CLAIM_TURN, { ...options, turnId, claimToken })
      return { claimToken, ...claim }
    },
    renewClaim: async (turnId, claimToken, options) =>
      (await call(documents.RENEW_CLAIM, { turnId, claimToken, ...options })).claim,
    releaseClaim: async (turnId, claimToken, options) =>
      (await call(documents.RELEASE_CLAIM, { turnId, claimToken, ...options })).claim,
    cancelRun: async (runId, options) => (await call(documents.CANCEL_RUN, { runId, ...options })).run,
    approvals: (options) => read(documents.LIST_APPROVALS, options),
    resolveApproval: async (approvalId, decision, options) =>
      (await call(documents.RESOLVE_APPROVAL, { approvalId, decision, ...options })).approval,
  }
}
