// Writes the deltas of streaming turns whose text is redacted. The offsets of the writer count the text as it was sent;
// those of subscribers count the text as it is stored. Text that cannot be redacted yet is stored separately
// (hold-back.ts), so that an acknowledged delta is durable and any process can continue the turn.

import { counters } from '../../../runtime/counters.ts'
import { appendChunks, type ChunkRow, type Delta } from '../../../store/sql/turn/streaming/append-chunks.ts'
import { appendHeld, readHeldText, type HeldText } from '../../../store/sql/turn/streaming/held-text.ts'
import type { Platform } from '../../kernel/platform.ts'
import { noteRemoved, type Removed } from '../../kernel/redaction.ts'
import { type DeltaQueue, type OnWritten, type Written, createDeltaQueue } from './delta-queue.ts'
import type { DeltaWrite } from './delta-batch.ts'
import { MAX_HELD, release } from './hold-back.ts'
import { announceDelta } from '../../kernel/live/publisher.ts'

type HeldDeps = Pick<Platform, 'pool' | 'detectors' | 'audit' | 'limits'>

/** Bytes by which a turn may exceed its limit, because placeholders may be longer than the values that they replace. */
const PLACEHOLDER_BYTES = 4 * MAX_HELD

const deltaOf = ({ turnId, tenant, viewer, writer }: DeltaWrite, text: string): Delta => ({
  turn: turnId,
  tenant,
  viewer,
  writer,
  start: null,
  second: null,
  text,
  units: text.length,
  half: null,
})

/** Whether all surrogates are paired, except a last one whose other half may follow. */
const isWellFormed = (text: string) => text.replace(/[\ud800-\udbff]$/, '').isWellFormed()

/**
 * Returns the new part of a delta, or the reason that it is refused. A repeated part is compared only with the end of
 * the text sent so far (`raw`), because earlier text is stored only in redacted form.
 */
function newText(
  { raw, sent }: HeldText,
  start: number,
  text: string,
): { text: string } | { refusal: 'elsewhere' | 'other' } {
  if (start > sent) return { refusal: 'elsewhere' }
  const from = sent - raw.length
  const known = raw.slice(Math.max(0, start - from), Math.max(0, start + text.length - from))
  const given = text.slice(Math.max(0, from - start), Math.max(0, sent - start))
  return known === given ? { text: text.slice(sent - start) } : { refusal: 'other' }
}

/** @param onWritten called after the commit with each range of text written */
function createHeldDeltas(deps: HeldDeps, pool: Platform['pool'], onWritten: OnWritten): DeltaQueue {
  /** The last call of each turn. Calls of one turn run in order. */
  const last = new Map<string, Promise<unknown>>()

  function inOrder<T>(turnId: string, work: () => Promise<T>): Promise<T> {
    const done = (last.get(turnId) ?? Promise.resolve()).then(work, work)
    last.set(turnId, done)
    const clean = () => {
      if (last.get(turnId) === done) last.delete(turnId)
    }
    done.then(clean, clean)
    return done
  }

  /** Stores and publishes the part of the held-back and new text that can be redacted; holds back the rest. */
  async function advance(delta: DeltaWrite, held: HeldText, text: string, isFinal: boolean) {
    const { text: released, held: rest, removed } = release(held, text, deps.detectors, isFinal || held.sealed)
    const limit = deps.limits.turnBytes + PLACEHOLDER_BYTES
    const next = { ...rest, version: held.version, sent: held.sent + text.length, sealed: isFinal || held.sealed }
    const row = await appendHeld(pool, deltaOf(delta, released), limit, next)
    if (row.outcome === 'written') {
      onWritten({
        conversationId: row.conversationId!,
        turnId: delta.turnId,
        start: row.start!,
        text: row.text!,
        isPrivate: row.isPrivate,
      })
      const counts: Removed = {}
      for (const kind of removed) counts[kind] = (counts[kind] ?? 0) + 1
      const call = { verb: 'appendDelta', resource: delta.turnId }
      noteRemoved(deps, { tenant: delta.tenant, actor: delta.viewer }, call, counts)
    }
    return row
  }

  async function write(delta: DeltaWrite): Promise<Written> {
    for (;;) {
      const held = await readHeldText(pool, delta.tenant, delta.turnId)
      if (!held || held.writer !== delta.writer) {
        // For an empty delta, appendChunks returns the reason that the turn accepts no text.
        const [{ outcome, ...row }] = (await appendChunks(pool, [deltaOf(delta, '')], 0)) as [ChunkRow]
        if (outcome === 'held') continue
        return { outcome, ...row }
      }
      const start = delta.start ?? held.sent
      const added = newText(held, start, delta.text)
      const refused = { end: held.sent, status: 'STREAMING' } as const
      if ('refusal' in added) return { outcome: added.refusal, ...refused }
      const { text } = added
      const pending = held.raw.slice(held.published) + text
      if (!isWellFormed(pending)) return { outcome: 'half', ...refused }
      if (held.bytes + Buffer.byteLength(pending) > deps.limits.turnBytes) return { outcome: 'full', ...refused }
      const row = await advance(delta, held, text, false)
      if (row.outcome === 'moved' || row.outcome === 'held') continue
      if (row.outcome !== 'written' && row.outcome !== 'renewed') return { ...row, outcome: row.outcome }
      counters.deltas += 1
      return { outcome: 'written', end: start + delta.text.length, status: row.status }
    }
  }

  async function seal(tenant: string, turnId: string, by: { writer: string } | null): Promise<void> {
    for (;;) {
      const held = await readHeldText(pool, tenant, turnId)
      if (!held || held.sealed || (by && by.writer !== held.writer)) return
      // The sweep must not renew the lease of a turn without held-back text.
      if (!by && held.raw.length === held.published) return
      const delta = { tenant, turnId, viewer: held.viewer, writer: held.writer, start: null, text: '' }
      if ((await advance(delta, held, '', true)).outcome !== 'moved') return
    }
  }

  return {
    write: (delta) => inOrder(delta.turnId, () => write(delta)),
    seal: (tenant, turnId, by) => inOrder(turnId, () => seal(tenant, turnId, by)),
  }
}

/**
 * Creates the queue that writes all deltas: this file writes those of turns whose text is held back for redaction,
 * delta-queue.ts all others. Opening a turn determines whether its text is held back, and stores that with the turn.
 * @param pool connections for appends and deltas
 */
export function createDeltas(platform: Platform, pool: Platform['pool']): DeltaQueue {
  const onWritten: OnWritten = (written) => announceDelta(platform, written)
  return createDeltaQueue(pool, platform.limits.turnBytes, onWritten, createHeldDeltas(platform, pool, onWritten))
}
