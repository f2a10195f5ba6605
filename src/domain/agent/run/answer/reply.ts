// Writes one reply of a run: builds the context, opens a streaming turn, calls the provider, and commits the turn with
// the text and the tool calls of the reply. If the call fails, the turn is aborted and keeps its text.

import { InvalidInput, NotAllowed, NotFound } from '../../../../errors.ts'
import type { ProviderToolCall } from '../../../../providers/ports/provider-adapter.ts'
import type { RunRow } from '../../../../store/sql/agent/run/run-columns.ts'
import { readContextEnd } from '../../../../store/sql/agent/run/context-end.ts'
import { endCall, endFailedCalls, type EndedCall } from '../../../../store/sql/agent/run/provider-calls.ts'
import { buildContext } from '../../../memory/context/build.ts'
import { storeContext } from '../../../memory/context/store.ts'
import { findAnswered } from '../../../memory/context/material/find-answered.ts'
import { precedes, type ContextEnd } from '../../../memory/context/material/recent-turns.ts'
import { abortOwnTurn, abortTurn, commitTurn, MAX_ABORT_REASON } from '../../../turn/streaming/stream.ts'
import type { PartInput } from '../../../turn/content.ts'
import type { Turn } from '../../../turn/turn.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { callProvider, isRefusal } from './call-provider.ts'
import { sendImages } from '../../../conversation/attachment/send-images.ts'
import { notAllowed, readerOf, sourcesFor } from '../credential.ts'
import type { RunDeps } from '../deps.ts'
import { RunFailure, failureOf } from './failure.ts'
import { agentOf, type HeldRun } from './held-run.ts'
import { openReply } from './open-reply.ts'
import { composePrompt } from './prompt.ts'
import { requireQuota, reserveQuota } from '../quota.ts'
import { readersOf, withoutPrivate } from '../readers.ts'
import { MAX_CALLS } from '../tools/tools.ts'
import { createReplyParts } from './reply-parts.ts'
import { takeNewest } from './steering.ts'
import { createTurnWriter, persist } from './turn-writer.ts'

export type Reply = { round: number; turn: Turn; calls: readonly ProviderToolCall[] }

/**
 * Returns the newest version of the turn to answer; null if there is none, it can no longer be answered, or the context
 * ends before it.
 */
async function answeredTurn(
  deps: RunDeps,
  run: RunRow,
  turnId: string | null,
  end: ContextEnd | null,
): Promise<string | null> {
  if (turnId === null) return null
  return findAnswered(deps, agentOf(run), run.conversationId, turnId).then(
    ({ id, position }) => (precedes(end, position) ? id : null),
    (error: unknown) => {
      if (error instanceof InvalidInput || error instanceof NotFound) return null
      throw error
    },
  )
}

/** Returns the messages for the provider, their token count, and the id of the stored context; null for none. */
async function promptOf(deps: RunDeps, held: HeldRun) {
  const { run, options, tools } = held
  const reader = await readerOf(deps, run)
  const { tokenBudget: given, store, ...context } = sourcesFor(reader, options.context ?? {})
  const tokenBudget = given ?? (await deps.defaults.of(run.tenant)).tokenBudget
  const newest = await takeNewest(deps, held)
  const end = run.supersedesId === null ? null : await readContextEnd(deps.pool, run.tenant, run.id)
  const answering = await answeredTurn(deps, run, newest ?? run.replyToId, end)
  const { conversationId, actor } = run
  const parts = { instructions: options.instructions ?? null, tools, tokenBudget }
  let contextId: string | null = null
  const prompt = await composePrompt(
    parts,
    (text) => deps.tokens.count(text),
    async (budget) => {
      const input = { ...context, conversationId, as: actor, answering, tokenBudget: budget }
      const readers = await readersOf(deps, run)
      const built = await buildContext(deps, agentOf(run), input, { outside: reader, end, readers }).catch(
        (error: unknown) => {
          throw error instanceof NotAllowed ? notAllowed(error) : error
        },
      )
      const sent = await withoutPrivate(deps, { ...run, audience: readers }, built)
      if (store) contextId = (await storeContext(deps, agentOf(run), conversationId, sent)).id
      return sent
    },
  )
  return { ...prompt, contextId }
}

/** The parameters of the call, other than its messages. */
function paramsOf({ run, options, tools }: HeldRun) {
  const choice = options.toolChoice ?? 'AUTO'
  return {
    ...(tools.length === 0 || choice === 'NONE'
      ? null
      : {
          tools: tools.map(({ execute: _, approval: _approval, schema, ...tool }) => ({
            ...tool,
            ...(schema ? { schema } : null),
          })),
          // A model that must call a tool each time would never answer.
          toolChoice: choice === 'REQUIRED' && run.round === 0 ? 'required' : 'auto',
        }),
    ...(options.maxTokens == null ? null : { maxTokens: options.maxTokens }),
    ...(options.agentContext == null ? null : { agentContext: options.agentContext }),
    metadata: { provider: run.provider, model: run.model },
  }
}

/** Returns the token usage that the provider reported, or else the counts of the server, with `isEstimated`. */
const usageOf = (
  reported: { inputTokens: number; outputTokens: number } | undefined,
  counted: { prompt: number; completion: number },
): Pick<EndedCall, 'promptTokens' | 'completionTokens' | 'isEstimated'> =>
  reported
    ? { promptTokens: reported.inputTokens, completionTokens: reported.outputTokens, isEstimated: false }
    : { promptTokens: counted.prompt, completionTokens: counted.completion, isEstimated: true }

const callParts = (calls: readonly ProviderToolCall[]): PartInput[] =>
  calls.map(({ id, name, arguments: given }) => ({ toolCall: { callId: id, name, arguments: given } }))

function requireUsable(calls: readonly ProviderToolCall[], length: number): void {
  if (calls.length > MAX_CALLS) {
    throw new RunFailure('INVALID_REPLY', `The reply has ${calls.length} tool calls; at most ${MAX_CALLS} are allowed.`)
  }
  if (new Set(calls.map(({ id }) => id)).size < calls.length) {
    throw new RunFailure('INVALID_REPLY', 'The reply has two tool calls with the same id.')
  }
  if (calls.length === 0 && length === 0) {
    throw new RunFailure('INVALID_REPLY', 'The reply has neither text nor tool calls.')
  }
}

/**
 * Calls the provider, and writes its reply as a turn. `signal` aborts with the reason to stop the run or the reply.
 * @throws any error that failureOf converts, or the signal's reason
 */
export async function writeReply(deps: RunDeps, held: HeldRun, signal: AbortSignal): Promise<Reply> {
  const { run } = held
  await requireQuota(deps, run.tenant, run.conversationId, run.actor)
  const provider = deps.providers.get(run.provider)
  if (!provider) throw new RunFailure('PROVIDER_FAILED', `The server no longer has the provider ${run.provider}.`)
  const prompt = await promptOf(deps, held)
  signal.throwIfAborted()
  // The turn is opened afterwards, so that an agent that waits for tokens does not seem to write.
  const maxTokens = held.options.maxTokens ?? null
  await reserveQuota(deps, run, { promptTokens: prompt.tokens, maxTokens }, signal)
  const { turn, writerToken, round } = await openReply(deps, held, prompt)
  held.run = { ...run, round, turnId: turn.id }
  const agent = agentOf(run)
  const failing = new AbortController()
  const either = AbortSignal.any([signal, failing.signal])
  const writer = createTurnWriter(deps, agent, { turnId: turn.id, writerToken }, (error) => failing.abort(error))
  const parts = createReplyParts(writer)
  const progress = { attempts: 0, length: 0, isBlank: true }
  const key = { tenant: run.tenant, runId: run.id }
  try {
    const { tenant, conversationId } = run
    const call = { tenant, conversationId, adapter: provider.adapter, signal: either }
    const params = { messages: await sendImages(deps, call, prompt.messages), ...paramsOf(held) }
    const { result, calls } = await callProvider(provider.adapter, params, {
      clock: deps.clock,
      stallMs: provider.limitsSilence ? deps.runLimits.maxMs : deps.runLimits.stallMs,
      signal: either,
      hasReasoning: held.options.reasoning ?? false,
      onAttempt: (attempt) => void (progress.attempts = attempt),
      async onDelta(part) {
        if (part.type === 'text') {
          progress.length += part.text.length
          if (progress.isBlank) progress.isBlank = part.text.trim() === ''
        }
        await parts.write(part)
      },
      onCall: (call) => parts.complete(call),
    })
    await writer.finish()
    requireUsable(calls, progress.isBlank ? 0 : progress.length)
    const { usage } = result
    const committed = await persist(deps, () =>
      commitTurn(deps, agent, {
        turnId: turn.id,
        writerToken,
        // A call that the token limit cuts, or that the provider itself executes, is announced and never whole.
        omitIncompleteCalls: true,
        ...(calls.length === 0 ? null : { parts: callParts(calls) }),
        ...(usage ? { tokenUsage: { prompt: usage.inputTokens, completion: usage.outputTokens } } : null),
      }),
    )
    const counted = { prompt: prompt.tokens, completion: committed.tokenCount }
    const { attempts } = progress
    const ended = { round, attempts, ...usageOf(usage, counted), finishReason: result.finishReason ?? null }
    await persist(deps, () => endCall(deps.pool, key, ended))
    return { round, turn: committed, calls }
  } catch (error) {
    // The text that has arrived is kept, unless the writer itself has failed.
    await writer.finish().catch(() => {})
    await abandon(deps, agent, { turnId: turn.id, writerToken, reason: reasonOf(error, signal) })
    const failed = {
      round,
      attempts: Math.max(1, progress.attempts),
      hasPrompt: progress.attempts > 0 && (signal.aborted || !isRefusal(error)),
      errorCode: signal.aborted ? String(signal.reason) : failureOf(error).code,
    }
    await persist(deps, () => endFailedCalls(deps.pool, key, failed)).catch((err: unknown) =>
      deps.log.warn({ err }, 'could not record the end of a provider call'),
    )
    throw error
  } finally {
    writer.stop()
  }
}

/** Aborts the turn of a failed call. Never rejects: if this fails, the sweep aborts the turn when its lease expires. */
async function abandon(
  deps: RunDeps,
  agent: Viewer,
  abort: { turnId: string; writerToken: string; reason: string },
): Promise<void> {
  await persist(deps, () => abortTurn(deps, agent, abort)).catch(() =>
    // An agent that has left may not close its turn, so the server closes it. A closed turn does not change.
    abortOwnTurn(deps, agent.tenant, abort.turnId, abort.reason).catch(() => {}),
  )
}

/** Returns the abort reason of the turn of a failed call. @param signal aborted if the run was stopped */
function reasonOf(error: unknown, signal: AbortSignal): string {
  const cause = signal.aborted ? REASONS[String(signal.reason)] : failureOf(error).message
  return (cause ?? 'The run has ended.').slice(0, MAX_ABORT_REASON)
}

/** The abort reason of the turn, by the reason to stop the run. */
const REASONS: Readonly<Record<string, string>> = {
  CANCELLED: 'The run was cancelled.',
  SHUTDOWN: 'The server was shut down.',
  STEERED: 'A newer message interrupted the answer.',
  TIME_LIMIT: 'The run took too long.',
}
