// Gives turns their vectors, after they were written and never in the way of it. What is to be done is found by
// comparing journals with cursors; vectors are kept before the cursor moves on, and keeping them twice changes nothing:
// a crash repeats one batch and loses none. Any number of processes share the conversations by claims.

import type { Embedder } from '../../providers/ports/embedder.ts'
import {
  advanceConversations,
  claimConversations,
  findConversationsBehind,
  releaseConversations,
} from '../../store/sql/indexing/embedding-conversations.ts'
import { readUnembedded, type Unembedded } from '../../store/sql/indexing/read-unembedded.ts'
import type { Platform } from '../platform.ts'
import { embedTexts } from './embed-texts.ts'

export type EmbeddingWorker = {
  readonly embedder: Embedder
  /** These conversations have grown. */
  nudge(conversationIds: Iterable<string>): void
  /** Looks for conversations that nobody spoke of: left by other processes, by crashes, from before. */
  sweep(): void
  /** Ends once what it holds is given free. */
  stop(): Promise<void>
}

/** Milliseconds in which nudges are gathered. */
const GATHER_MS = 20
/** Conversations claimed at once. */
const CLAIM = 64
/** Conversations that one look finds. */
const FIND = 10_000
/** When a conversation that somebody else holds is tried again. They may have missed what was said last. */
const BUSY_MS = 300
const BACKOFF_MS = { least: 1_000, most: 60_000 }
/** Of the time, the share that reading, keeping and (in this process) making vectors may take from all others. */
const SHARE = 0.5
/** Yet an embedder that works elsewhere is not kept waiting for longer. */
const PAUSE_MS = 50

/** @param idle called whenever there is nothing more to do */
export function startEmbeddingWorker(
  { pool, vectors, log }: Pick<Platform, 'pool' | 'vectors' | 'log'>,
  embedder: Embedder,
  idle: () => void,
): EmbeddingWorker {
  const { name } = embedder
  const nudged = new Set<string>()
  /** Found by a look, not claimed yet. */
  let found: string[] = []
  /** Claimed, in the order in which they are read. */
  let held: string[] = []
  let mustLook = true
  let failures = 0
  const stopping = new AbortController()
  const timers = new Set<NodeJS.Timeout>()
  let wake = () => {}

  /** Wakes the loop, or lets it go on, after that time. */
  function after(ms: number, task: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer)
      task()
    }, ms)
    timer.unref()
    timers.add(timer)
  }

  const take = (): string[] => {
    if (nudged.size === 0) return held.length > 0 ? [] : found.splice(0, CLAIM)
    const conversationIds = [...nudged].slice(0, CLAIM)
    for (const conversationId of conversationIds) nudged.delete(conversationId)
    return conversationIds.filter((conversationId) => !held.includes(conversationId))
  }

  /** One batch, or one look for conversations; false when there is nothing to do. */
  async function step(): Promise<boolean> {
    if (mustLook && nudged.size + held.length + found.length === 0) {
      found = await findConversationsBehind(pool, name, FIND)
      mustLook = found.length === FIND
    }
    const conversationIds = take()
    if (conversationIds.length > 0) {
      const { claimed, busy } = await claimConversations(pool, name, conversationIds)
      held = [...claimed, ...held]
      if (busy.length > 0) {
        after(BUSY_MS, () => {
          for (const conversationId of busy) nudged.add(conversationId)
          wake()
        })
      }
    }
    if (held.length === 0) return nudged.size + found.length > 0 || mustLook
    const read = await readUnembedded(pool, name, held, embedder.batch)
    await vectors.write(name, await embed(read))
    const through = new Map(read.map((each) => [each.conversationId, each.through]))
    const free = await advanceConversations(
      pool,
      name,
      held.map((conversationId) => ({ conversationId, through: through.get(conversationId) ?? 0 })),
    )
    held = held.filter((conversationId) => !free.includes(conversationId))
    return true
  }

  async function embed(read: readonly Unembedded[]) {
    const turns = read.flatMap(({ conversationId, turns }) => turns.map((turn) => ({ conversationId, ...turn })))
    const made = await embedTexts(
      embedder,
      turns.map(({ text }) => text),
      stopping.signal,
      (place, error) => {
        const { conversationId, seq } = turns[place]!
        log.warn(
          { embedder: name, conversationId, seq, cause: error.message },
          'a turn cannot be embedded: it gets no vector',
        )
      },
    )
    return turns.flatMap(({ conversationId, rootSeq, seq }, place) => {
      const vector = made[place]
      return vector ? [{ conversationId, rootSeq, seq, vector }] : []
    })
  }

  async function release(): Promise<void> {
    const conversationIds = held
    held = []
    found = [...conversationIds, ...found]
    // Where that fails, too, the claims run out by themselves.
    if (conversationIds.length > 0) await releaseConversations(pool, name, conversationIds).catch(() => {})
  }

  const sleep = (ms: number | null) =>
    new Promise<void>((resolve) => {
      wake = resolve
      if (ms !== null) after(ms, resolve)
      if (stopping.signal.aborted) resolve()
    })

  /** However often it is woken: a nudge is no reason to hurry. */
  async function pause(ms: number): Promise<void> {
    const until = performance.now() + ms
    while (performance.now() < until && !stopping.signal.aborted) await sleep(until - performance.now())
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const began = performance.now()
      try {
        const isMore = await step()
        if (failures > 0) log.info({ embedder: name }, 'embedding goes on')
        failures = 0
        if (isMore) await pause(Math.min((performance.now() - began) * (1 / SHARE - 1), PAUSE_MS))
        else {
          idle()
          if (nudged.size === 0 && !mustLook) await sleep(null)
        }
      } catch (error) {
        if (stopping.signal.aborted) break
        await release()
        if (failures++ === 0) log.warn({ embedder: name, err: error }, 'embedding fails: it is tried again and again')
        const most = Math.min(BACKOFF_MS.least * 2 ** (failures - 1), BACKOFF_MS.most)
        await pause(most * (0.5 + Math.random() / 2))
      }
    }
    await release()
  }

  const running = run()
  return {
    embedder,
    nudge(conversationIds) {
      const isFirst = nudged.size === 0
      for (const conversationId of conversationIds) nudged.add(conversationId)
      if (isFirst) after(GATHER_MS, () => wake())
    },
    sweep() {
      mustLook = true
      wake()
    },
    async stop() {
      stopping.abort(new Error('embedding stops'))
      for (const timer of timers) clearTimeout(timer)
      wake()
      await running
    },
  }
}
