// Embeds turns in the background. The embedder has a cursor in each conversation: the seq of the last journal entry
// that it has read. A conversation has unread turns if its journal continues after the cursor. The worker writes
// vectors before it advances the cursor, and writing them twice changes nothing, so a crash repeats one batch and loses
// none. One process at a time claims a conversation.

import type { Embedder } from '../../../providers/ports/embedder.ts'
import {
  advanceConversations,
  claimConversations,
  findConversationsBehind,
  releaseConversations,
} from '../../../store/sql/memory/indexing/embedding-conversations.ts'
import { readUnembedded, type Unembedded } from '../../../store/sql/memory/indexing/read-unembedded.ts'
import type { TurnVersionId } from '../../../store/vectors/vector-search.ts'
import { startLoop } from '../../background/job/loop.ts'
import type { Platform } from '../../kernel/platform.ts'
import { embedTexts } from './batch.ts'

export type EmbeddingWorker = {
  readonly embedder: Embedder
  /** Notifies the worker of new entries in these conversations. */
  nudge(conversationIds: Iterable<string>): void
  /**
   * Makes the worker search for conversations with unread turns for which it was not nudged, for example after a crash
   * or a change of the embedder.
   */
  sweep(): void
  /** Stops the worker and resolves once its claims are released. */
  stop(): Promise<void>
}

type EmbedPlatform = Pick<Platform, 'clock' | 'pool' | 'vectors' | 'log'>

/** Milliseconds for which the worker collects nudges before it handles them. */
const GATHER_MS = 5
/** Maximum number of turns that one statement reads. */
const READ_TURNS = 512
/** Maximum number of conversations per claim. */
const CLAIM = 64
/** Maximum number of conversations that one search finds. */
const FIND = 10_000
/**
 * Milliseconds after which the worker tries again to claim a conversation that another process had claimed, because
 * that process may miss the newest turns.
 */
const BUSY_MS = 300

/** Creates the list of conversations that a worker has to read: nudged, found by a search, or claimed. */
function createBacklog(
  { clock, pool }: Pick<Platform, 'clock' | 'pool'>,
  embedder: string,
  nudge: (ids: Iterable<string>) => void,
) {
  const nudged = new Set<string>()
  let found: string[] = []
  /** Claimed conversations, in the order in which they are read. */
  let claimed: string[] = []
  let mustSearch = true

  /** Removes and returns the next conversations to claim: nudged ones, or found ones if none is nudged or claimed. */
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
    searchAgain() {
      mustSearch = true
    },
    isEmpty: () => nudged.size + found.length + claimed.length === 0 && !mustSearch,
    /** Claims and returns the conversations to read next. After BUSY_MS, retries those claimed by other processes. */
    async claim(): Promise<readonly string[]> {
      if (mustSearch && nudged.size + claimed.length + found.length === 0) {
        found = await findConversationsBehind(pool, embedder, FIND)
        mustSearch = found.length === FIND
      }
      const conversationIds = take()
      if (conversationIds.length > 0) {
        const result = await claimConversations(pool, embedder, conversationIds)
        claimed = [...result.claimed, ...claimed]
        if (result.busy.length > 0) clock.setTimeout(nudge, BUSY_MS, result.busy).unref()
      }
      return claimed
    },
    /** Advances the cursors of the claimed conversations, and releases the conversations without unread turns. */
    async advance(read: readonly Unembedded[]): Promise<void> {
      const through = new Map(read.map((each) => [each.conversationId, each.through]))
      const cursors = claimed.map((conversationId) => ({ conversationId, through: through.get(conversationId) ?? 0 }))
      const released = await advanceConversations(pool, embedder, cursors)
      claimed = claimed.filter((conversationId) => !released.includes(conversationId))
    },
    /** Releases all claims. The conversations stay in the backlog. */
    async release(): Promise<void> {
      const conversationIds = claimed
      claimed = []
      found = [...conversationIds, ...found]
      // If the release fails, the claims expire.
      if (conversationIds.length > 0) await releaseConversations(pool, embedder, conversationIds).catch(() => {})
    },
  }
}

/** Returns the vectors of the turns. Logs and omits each turn that the embedder refuses. */
async function embedTurns(
  { log }: Pick<Platform, 'log'>,
  embedder: Embedder,
  read: readonly Unembedded[],
  signal: AbortSignal,
): Promise<(TurnVersionId & { vector: Float32Array })[]> {
  const turns = read.flatMap(({ conversationId, turns }) => turns.map((turn) => ({ conversationId, ...turn })))
  const embedded = await embedTexts(
    embedder,
    turns.map(({ text }) => text),
    signal,
    (index, error) => {
      const { conversationId, seq } = turns[index]!
      log.warn(
        { embedder: embedder.name, conversationId, seq, cause: error.message },
        'the embedder refused a turn; the turn gets no vector',
      )
    },
  )
  return turns.flatMap(({ conversationId, position, seq }, index) => {
    const vector = embedded[index]
    return vector ? [{ conversationId, position, seq, vector }] : []
  })
}

/**
 * Divides the turns into batches of at most `size` turns, in order. If a conversation is in several batches, `through`
 * is the entry of its last turn in the batch, except in its last batch.
 * @internal Exported for tests.
 */
export function batchesOf(read: readonly Unembedded[], size: number): Unembedded[][] {
  const batches: Unembedded[][] = [[]]
  let free = size
  for (const { conversationId, through, turns } of read) {
    let from = 0
    do {
      if (free === 0) {
        batches.push([])
        free = size
      }
      const part = turns.slice(from, from + free)
      from += part.length
      free -= part.length
      const isRead = from === turns.length
      batches.at(-1)!.push({ conversationId, through: isRead ? through : part.at(-1)!.entry, turns: part })
    } while (from < turns.length)
  }
  return batches
}

/**
 * Starts a worker that embeds the turns of all tenants.
 * @param onIdle called each time no conversation is left to read
 */
export function startEmbeddingWorker(platform: EmbedPlatform, embedder: Embedder, onIdle: () => void): EmbeddingWorker {
  const { pool, vectors } = platform
  const { name } = embedder
  const backlog = createBacklog(platform, name, nudge)
  const loop = startLoop(platform, {
    step,
    idle: onIdle,
    release: backlog.release,
    gatherMs: GATHER_MS,
    sweepMs: null,
    messages: { failing: 'could not embed turns; retrying', recovered: 'embedding turns succeeds again' },
    details: { embedder: name },
  })

  function nudge(conversationIds: Iterable<string>): void {
    backlog.add(conversationIds)
    loop.nudge()
  }

  async function write(batch: readonly Unembedded[], embedded: Awaited<ReturnType<typeof embedTurns>>): Promise<void> {
    await vectors.write(name, embedded)
    await backlog.advance(batch)
  }

  /** Reads and embeds up to READ_TURNS turns, or searches for conversations once. Returns false if no work is left. */
  async function step(signal: AbortSignal): Promise<boolean> {
    const claimed = await backlog.claim()
    if (claimed.length === 0) return !backlog.isEmpty()
    const read = await readUnembedded(pool, name, claimed, READ_TURNS)
    // Embed the next batch while a batch is written.
    let writing: Promise<void> = Promise.resolve()
    try {
      for (const batch of batchesOf(read, embedder.batch)) {
        const embedded = await embedTurns(platform, embedder, batch, signal)
        await writing
        writing = write(batch, embedded)
        // The next `await writing` handles the error. Prevents an unhandled rejection until then.
        writing.catch(() => {})
      }
    } finally {
      await writing
    }
    return true
  }

  return {
    embedder,
    nudge,
    sweep() {
      backlog.searchAgain()
      loop.nudge()
    },
    stop: loop.stop,
  }
}
