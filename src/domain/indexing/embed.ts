// Embeds turns in the background, after they are written. Conversations to read are found by comparing journals with
// cursors; vectors are written before the cursor moves on, and writing them twice changes nothing, so a crash repeats
// one batch and loses none. Any number of processes share the conversations by claims.

import type { Embedder } from '../../providers/ports/embedder.ts'
import {
  advanceConversations,
  claimConversations,
  findConversationsBehind,
  releaseConversations,
} from '../../store/sql/indexing/embedding-conversations.ts'
import { readUnembedded, type Unembedded } from '../../store/sql/indexing/read-unembedded.ts'
import type { Place } from '../../store/vector-search.ts'
import { startLoop } from '../job/loop.ts'
import type { Platform } from '../platform.ts'
import { embedTexts } from './embed-texts.ts'

export type EmbeddingWorker = {
  readonly embedder: Embedder
  /** These conversations have new entries. */
  nudge(conversationIds: Iterable<string>): void
  /** Looks for conversations that no nudge named: left by other processes or crashes, or older than the embedder. */
  sweep(): void
  /** Resolves once its claims are released. */
  stop(): Promise<void>
}

type EmbedPlatform = Pick<Platform, 'db' | 'vectors' | 'log'>

/** Milliseconds for which nudges are collected. */
const GATHER_MS = 20
/** Conversations claimed at once. */
const CLAIM = 64
/** Conversations that one look finds. */
const FIND = 10_000
/** Milliseconds until a conversation that another process holds is tried again: it may have missed the newest turns. */
const BUSY_MS = 300

/** The conversations that a worker knows to be behind: nudged, found by a look, and claimed. */
function createBacklog({ db }: Pick<Platform, 'db'>, embedder: string, nudge: (ids: Iterable<string>) => void) {
  const nudged = new Set<string>()
  let found: string[] = []
  /** Claimed, in the order in which they are read. */
  let claimed: string[] = []
  let mustLook = true

  /** The next conversations to claim: nudged ones at once, found ones when nothing is claimed. */
  function take(): string[] {
    if (nudged.size === 0) return claimed.length > 0 ? [] : found.splice(0, CLAIM)
    const conversationIds = [...nudged].slice(0, CLAIM)
    for (const conversationId of conversationIds) nudged.delete(conversationId)
    return conversationIds.filter((conversationId) => !claimed.includes(conversationId))
  }

  return {
    add(conversationIds: Iterable<string>) {
      for (const conversationId of conversationIds) nudged.add(conversationId)
    },
    lookAgain() {
      mustLook = true
    },
    isEmpty: () => nudged.size + found.length + claimed.length === 0 && !mustLook,
    /** The conversations to read next, claimed. Those that another process holds are nudged again a moment later. */
    async claim(): Promise<readonly string[]> {
      if (mustLook && nudged.size + claimed.length + found.length === 0) {
        found = await findConversationsBehind(db, embedder, FIND)
        mustLook = found.length === FIND
      }
      const conversationIds = take()
      if (conversationIds.length > 0) {
        const answer = await claimConversations(db, embedder, conversationIds)
        claimed = [...answer.claimed, ...claimed]
        if (answer.busy.length > 0) setTimeout(nudge, BUSY_MS, answer.busy).unref()
      }
      return claimed
    },
    /** Moves the cursors of the claimed conversations; those that are read to their ends are released. */
    async advance(read: readonly Unembedded[]): Promise<void> {
      const through = new Map(read.map((each) => [each.conversationId, each.through]))
      const cursors = claimed.map((conversationId) => ({ conversationId, through: through.get(conversationId) ?? 0 }))
      const free = await advanceConversations(db, embedder, cursors)
      claimed = claimed.filter((conversationId) => !free.includes(conversationId))
    },
    /** Releases all claims; their conversations are claimed again later. */
    async release(): Promise<void> {
      const conversationIds = claimed
      claimed = []
      found = [...conversationIds, ...found]
      // Where that fails too, the claims expire.
      if (conversationIds.length > 0) await releaseConversations(db, embedder, conversationIds).catch(() => {})
    },
  }
}

async function embedTurns(
  { log }: Pick<Platform, 'log'>,
  embedder: Embedder,
  read: readonly Unembedded[],
  signal: AbortSignal,
): Promise<(Place & { vector: Float32Array })[]> {
  const turns = read.flatMap(({ conversationId, turns }) => turns.map((turn) => ({ conversationId, ...turn })))
  const made = await embedTexts(
    embedder,
    turns.map(({ text }) => text),
    signal,
    (place, error) => {
      const { conversationId, seq } = turns[place]!
      log.warn(
        { embedder: embedder.name, conversationId, seq, cause: error.message },
        'a turn cannot be embedded: it gets no vector',
      )
    },
  )
  return turns.flatMap(({ conversationId, rootSeq, seq }, place) => {
    const vector = made[place]
    return vector ? [{ conversationId, rootSeq, seq, vector }] : []
  })
}

/** @param idle called each time that no conversation is left to read */
export function startEmbeddingWorker(platform: EmbedPlatform, embedder: Embedder, idle: () => void): EmbeddingWorker {
  const { db, vectors } = platform
  const { name } = embedder
  const backlog = createBacklog(platform, name, nudge)
  const loop = startLoop(platform, {
    step,
    idle,
    release: backlog.release,
    gatherMs: GATHER_MS,
    sweepMs: null,
    messages: { failing: 'embedding turns fails; retrying', recovered: 'embedding turns succeeds again' },
    details: { embedder: name },
  })

  function nudge(conversationIds: Iterable<string>): void {
    backlog.add(conversationIds)
    loop.nudge()
  }

  /** One batch, or one look for conversations. */
  async function step(signal: AbortSignal): Promise<boolean> {
    const claimed = await backlog.claim()
    if (claimed.length === 0) return !backlog.isEmpty()
    const read = await readUnembedded(db, name, claimed, embedder.batch)
    await vectors.write(name, await embedTurns(platform, embedder, read, signal))
    await backlog.advance(read)
    return true
  }

  return {
    embedder,
    nudge,
    sweep() {
      backlog.lookAgain()
      loop.nudge()
    },
    stop: loop.stop,
  }
}
