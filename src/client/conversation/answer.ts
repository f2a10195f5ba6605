// Answers the turns that wake up the client's actor. Claims each turn, so that only one process answers it; renews the
// claim while the handler runs; and ends the claim by the answer, by a release, or by dismissing the turn.

import { randomId, type RequestOptions } from '../verbs/calls.ts'
import type { Connection } from '../transport/connection.ts'
import type { ConversationHandle, NewTurn } from './conversation.ts'
import { CLAIM_TURN, RELEASE_CLAIM, RENEW_CLAIM, UPDATE_PARTICIPANT } from '../verbs/documents.ts'
import { ColloquyError } from '../transport/errors.ts'
import type { ClaimScope, InboxEvent, ListedConversation, Respond, Turn } from '../generated.ts'
import { followInbox, listConversations } from './inbox.ts'
import { linkedSignal, backOff } from '../transport/retry.ts'
import type { Source } from './stream-parts.ts'
import type { WriteOptions } from './write.ts'

/** A turn to answer. */
export type Question = {
  readonly turn: Turn
  readonly conversation: ConversationHandle
  /** Aborted when the claim is lost, or the client stops answering. Pass it to the model. */
  readonly signal: AbortSignal
  /**
   * Answers with a whole turn. `role` defaults to ASSISTANT.
   * @throws ColloquyError with the code CONFLICT if the claim was lost
   */
  append(turn: NewTurn): Promise<Turn>
  /**
   * Answers with a stream; see `write` of ConversationHandle.
   * @throws ColloquyError with the code CONFLICT if the claim was lost
   */
  write(source: Source | PromiseLike<Source>, options?: WriteOptions): Promise<Turn>
}

/**
 * Answers a turn. A text or stream that the handler returns becomes the answer. If it returns neither, and has called
 * neither `append` nor `write`, the turn is dismissed and not delivered again. If it throws, the claim is released, and
 * the turn is delivered again, to any process of the actor.
 */
export type AnswerHandler = (question: Question) => AnswerResult | PromiseLike<AnswerResult>
type AnswerResult = Source | null | undefined | void

export type AnswerOptions = RequestOptions & {
  /** Maximum number of turns that this process answers at the same time. Defaults to 4. */
  concurrency?: number
  /** Claims that a claim on a turn excludes: `AGENT`, those of the same actor; `TURN`, all. Defaults to `AGENT`. */
  scope?: ClaimScope
  /** Time after which an unrenewed claim expires, s. It is renewed after each quarter of this time. Defaults to 8. */
  ttlSeconds?: number
  /**
   * Turns that wake up the actor: set in each of its 50 most recently active conversations, and in those that it joins
   * later, if the setting there is NEVER. Without this option, such conversations are reported to the client's
   * `onError`, because `answer` receives none of their turns.
   */
  respond?: Exclude<Respond, 'NEVER'>
  /** Called after each failed attempt to answer a turn. Defaults to the client's `onError`. */
  onError?(error: unknown, turn: Turn): void
}

/** Maximum number of attempts of one process to answer a turn. After that, it leaves the turn to other processes. */
const MAX_ATTEMPTS = 5
/** Waits between the attempts to answer a turn, ms. */
const RETRY = { firstMs: 1_000, maxMs: 8_000 }
/** Maximum number of remembered turns that this process has left to others. The oldest are forgotten first. */
const MAX_REMEMBERED = 1_000
/** Maximum number of turns that wait in this process. Further turns are delivered again by the next subscription. */
const MAX_WAITING = 100
/** Time for which the release of a claim is retried, ms. After that, the claim expires by itself. */
const RELEASE_MS = 5_000

type Answering = Required<Pick<AnswerOptions, 'scope' | 'ttlSeconds'>> & {
  connection: Connection
  conversationOf(id: string): ConversationHandle
  handler: AnswerHandler
  signal?: AbortSignal | null
}

/** Claims the turn. Returns false if another process has claimed or answered it, or the actor no longer sees it. */
async function claim({ connection, scope, ttlSeconds, signal }: Answering, turnId: string, claimToken: string) {
  try {
    await connection.mutate(CLAIM_TURN, { turnId, claimToken, scope, ttlSeconds }, { signal })
    return true
  } catch (error) {
    if (error instanceof ColloquyError && (error.code === 'CONFLICT' || error.code === 'NOT_FOUND')) return false
    throw error
  }
}

/** Answers one turn, if this process can claim it. @throws the error of the handler, or of the server */
async function answerTurn(answering: Answering, turn: Turn, conversationId: string): Promise<void> {
  const { connection, handler, ttlSeconds } = answering
  const claimToken = randomId()
  if (!(await claim(answering, turn.id, claimToken))) return
  const { signal, abort, release: unlink } = linkedSignal(answering.signal)
  let renewing: Promise<unknown> | null = null
  const renewal = setInterval(() => {
    renewing ??= connection
      .mutate(RENEW_CLAIM, { turnId: turn.id, claimToken, ttlSeconds }, { signal })
      // A claim that the answer has ended cannot be renewed.
      .then(
        () => (renewing = null),
        (error: unknown) => isAnswered || abort(error),
      )
  }, ttlSeconds * 250)
  const conversation = answering.conversationOf(conversationId)
  let isAnswered = false
  const question: Question = {
    turn,
    conversation,
    signal,
    append: (given) => {
      isAnswered = true
      const fields = typeof given === 'string' ? { content: given } : given
      const reply = { role: 'ASSISTANT' as const, replyToId: turn.id, ...fields }
      return conversation.append(reply, { signal, claimToken })
    },
    write: (source, options) => {
      isAnswered = true
      const onOpen = (opened: Turn) => {
        // The lease of the open turn keeps the claim.
        clearInterval(renewal)
        options?.onOpen?.(opened)
      }
      return conversation.write(source, { signal, replyToId: turn.id, ...options, onOpen, claimToken })
    },
  }
  const end = async (dismiss: boolean) => {
    const late = AbortSignal.timeout(RELEASE_MS)
    await connection.mutate(RELEASE_CLAIM, { turnId: turn.id, claimToken, dismiss }, { signal: late }).catch(() => {})
  }
  try {
    const result = await handler(question)
    if (typeof result === 'string') await question.append(result)
    else if (result) await question.write(result)
    else if (!isAnswered) await end(true)
  } catch (error) {
    await end(false)
    throw signal.aborted ? signal.reason : error
  } finally {
    clearInterval(renewal)
    unlink()
  }
}

/**
 * Sets `respond` in the conversations whose turns never wake up the actor. Reports them if it is not given, and those in
 * which it cannot be set. Without given conversations, reads them.
 */
async function listen(
  connection: Connection,
  given: readonly ListedConversation[] | null,
  { respond, signal }: AnswerOptions,
): Promise<void> {
  const report = (error: unknown): readonly ListedConversation[] => {
    if (!signal?.aborted) connection.report(error)
    return []
  }
  const conversations = given ?? (await listConversations(connection, { signal }).catch(report))
  const silent = conversations.filter(({ viewerParticipant }) => viewerParticipant?.respond === 'NEVER')
  if (silent.length > 0 && !respond) {
    const ids = silent.map(({ id }) => id).toSorted()
    const message = `No turn of ${ids.join(', ')} wakes up ${silent[0]!.viewerParticipant!.actor}: set \`respond\`.`
    return void report(new ColloquyError('NEVER_WOKEN', message))
  }
  for (const { id: conversationId, viewerParticipant } of silent) {
    const change = { conversationId, actor: viewerParticipant!.actor, respond }
    await connection.mutate(UPDATE_PARTICIPANT, change, { signal }).catch(report)
  }
}

/** Answers wake-ups until the signal is aborted. @throws ColloquyError if the inbox fails permanently */
export async function answer(
  connection: Connection,
  conversationOf: (id: string) => ConversationHandle,
  handler: AnswerHandler,
  options: AnswerOptions = {},
): Promise<void> {
  const { concurrency = 4, scope = 'AGENT', ttlSeconds = 8, signal, onError = connection.report } = options
  const answering: Answering = { connection, conversationOf, handler, scope, ttlSeconds, signal }
  const waiting = new Map<string, InboxEvent>()
  const running = new Map<string, Promise<void>>()
  const givenUp = new Set<string>()
  /** Called when `waiting` is empty. If `waiting` was full before, ends the subscription, so that a new one begins. */
  let subscribeAgain = () => {}

  async function attempt(turn: Turn, conversationId: string): Promise<void> {
    for (let failures = 0; failures < MAX_ATTEMPTS && !signal?.aborted; failures++) {
      if (failures > 0) await backOff(failures - 1, signal, RETRY)
      try {
        return await answerTurn(answering, turn, conversationId)
      } catch (error) {
        if (!signal?.aborted) onError(error, turn)
      }
    }
    givenUp.add(turn.id)
    if (givenUp.size > MAX_REMEMBERED) givenUp.delete(givenUp.values().next().value!)
  }

  function start(): void {
    if (waiting.size === 0) subscribeAgain()
    for (const [turnId, { turn, conversationId }] of waiting) {
      if (running.size >= concurrency || signal?.aborted) return
      waiting.delete(turnId)
      const done = attempt(turn!, conversationId).finally(() => {
        running.delete(turnId)
        start()
      })
      running.set(turnId, done)
    }
  }

  for (let isComplete = false; !isComplete;) {
    isComplete = true
    subscribeAgain = () => {}
    const current = linkedSignal(signal)
    const inbox: AsyncIterable<InboxEvent> = followInbox(connection, {
      ...current,
      onConnection: (state) => void (state === 'live' && listen(connection, null, options)),
    })
    for await (const event of inbox) {
      const { turn, reason, conversation } = event
      if (reason === 'ADDED' && conversation) void listen(connection, [conversation], options)
      if (reason !== 'WAKE_UP' || !turn || running.has(turn.id) || givenUp.has(turn.id)) continue
      if (waiting.size < MAX_WAITING) waiting.set(turn.id, event)
      else {
        // A new subscription begins with all turns that wait for an answer.
        isComplete = false
        subscribeAgain = current.abort
      }
      start()
    }
    current.release()
  }
  await Promise.all(running.values())
}
