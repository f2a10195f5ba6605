// Writes the deltas of streaming turns whose content is redacted. The offsets of the writer count the text as it was sent;
// those of subscribers count the text as it is stored. Text that cannot be redacted yet is stored separately
// (hold-back.ts), so that an acknowledged delta is durable and any process can continue the turn.

import { counters } from '../../../runtime/counters.ts'
import { appendChunks, type ChunkRow, type Delta } from '../../../store/sql/turn/streaming/append-chunks.ts'
import { appendHeld, readHeldParts, readHeldText, type HeldText } from '../../../store/sql/turn/streaming/held-text.ts'
import type { Platform } from '../../kernel/platform.ts'
import { noteRemoved, type Removed } from '../../kernel/redaction.ts'
import { type DeltaQueue, type OnWritten, type Written, createDeltaQueue, writtenBy } from './delta-queue.ts'
import { isFirstHalf, partFieldsOf, partNumberOf, type DeltaWrite } from './delta-batch.ts'
import { MAX_HELD, release, releaseArguments } from './hold-back.ts'
import { announceDelta } from '../../kernel/live/publisher.ts'

type HeldDeps = Pick<Platform, 'pool' | 'detectors' | 'audit' | 'limits'>

/** Bytes by which a turn may exceed its limit, because placeholders may be longer than the values that they replace. */
const PLACEHOLDER_BYTES = 4 * MAX_HELD

const deltaOf = (delta: DeltaWrite, text: string): Delta => ({
  turn: delta.turnId,
  tenant: delta.tenant,
  viewer: delta.viewer,
  writer: delta.writer,
  ...partFieldsOf(delta),
  start: null,
  second: null,
  text,
  units: text.length,
  half: null,
})

/** Removes the signature of reasoning, because a provider rejects a redacted text with the signature of the original. */
function withoutSignature(delta: DeltaWrite): DeltaWrite {
  const { part } = delta
  if (part?.content?.type !== 'reasoning') return delta
  const { signature, ...content } = part.content
  return { ...delta, part: { ...part, content } }
}

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

/** Returns a function that runs the calls for one turn in order. */
function createOrder() {
  /** The last call of each turn. */
  const last = new Map<string, Promise<unknown>>()
  return function inOrder<T>(turnId: string, work: () => Promise<T>): Promise<T> {
    const done = (last.get(turnId) ?? Promise.resolve()).then(work, work)
    last.set(turnId, done)
    const clean = () => {
      if (last.get(turnId) === done) last.delete(turnId)
    }
    done.then(clean, clean)
    return done
  }
}

/** @param onWritten called after the commit with each range of text written */
function createHeldDeltas(deps: HeldDeps, pool: Platform['pool'], onWritten: OnWritten): DeltaQueue {
  const inOrder = createOrder()

  /**
   * Stores and publishes the beginning of the held-back and new text that can be redacted; holds back the rest.
   * @param until 'safe': publish what later text cannot change. 'end': publish all, as if the text ended here. 'sealed':
   * publish all, and hold back no later text.
   */
  async function advance(delta: DeltaWrite, held: HeldText, text: string, until: 'safe' | 'end' | 'sealed') {
    const isSealed = held.sealed || until === 'sealed'
    const isToolCall = (delta.part?.content ?? held.content)?.type === 'toolCall'
    const releaseText = isToolCall ? releaseArguments : release
    const released = releaseText(held, text, deps.detectors, isSealed || until === 'end')
    const limit = deps.limits.turnBytes + PLACEHOLDER_BYTES
    const next = { ...released.held, version: held.version, sent: held.sent + text.length, sealed: isSealed }
    const chunk = deltaOf(delta, released.text)
    const row = await appendHeld(pool, chunk, limit, next)
    const written = writtenBy(chunk, row)
    if (written) {
      onWritten(written)
      const counts: Removed = {}
      for (const kind of released.removed) counts[kind] = (counts[kind] ?? 0) + 1
      const call = { verb: 'appendDelta', resource: delta.turnId }
      noteRemoved(deps, { tenant: delta.tenant, actor: delta.viewer }, call, counts)
    }
    return row
  }

  /** Publishes the turn's text up to the place of a new part, so that the place is the end of the published text. */
  async function endText(delta: DeltaWrite): Promise<void> {
    const textOfTurn = { ...delta, part: null, start: null, text: '' }
    for (;;) {
      const held = await readHeldText(pool, delta.tenant, delta.turnId, 0)
      if (!held || held.raw.length === held.published) return
      if ((await advance(textOfTurn, held, '', 'end')).outcome !== 'moved') return
    }
  }

  async function write(given: DeltaWrite): Promise<Written> {
    const delta = withoutSignature(given)
    for (;;) {
      const held = await readHeldText(pool, delta.tenant, delta.turnId, partNumberOf(delta))
      if (!held || held.writer !== delta.writer) {
        // For an empty delta, appendChunks returns the reason that the turn accepts no text.
        const [{ outcome, ...row }] = (await appendChunks(pool, [deltaOf({ ...delta, part: null }, '')], 0)) as [
          ChunkRow,
        ]
        if (outcome === 'held') continue
        return { outcome, ...row }
      }
      const start = delta.start ?? held.sent
      const added = newText(held, start, delta.text)
      const refused = { end: held.sent, status: 'STREAMING' } as const
      if ('refusal' in added) return { outcome: added.refusal, ...refused }
      const { text } = added
      if (held.isComplete && text !== '') return { outcome: 'complete', ...refused }
      const pending = held.raw.slice(held.published) + text
      const isLast = delta.part?.isComplete ?? false
      const isCut = isLast && isFirstHalf(pending.charCodeAt(pending.length - 1))
      if (isCut || !isWellFormed(pending)) return { outcome: 'half', ...refused }
      if (held.bytes + Buffer.byteLength(pending) > deps.limits.turnBytes) return { outcome: 'full', ...refused }
      if (delta.part?.content && held.version === null) await endText(delta)
      const row = await advance(delta, held, text, isLast ? 'sealed' : 'safe')
      if (row.outcome === 'moved' || row.outcome === 'held') continue
      if (row.outcome !== 'written' && row.outcome !== 'renewed') return { ...row, outcome: row.outcome }
      counters.deltas += 1
      return { outcome: 'written', end: start + delta.text.length, status: row.status }
    }
  }

  /** Publishes the held-back text of one part of a turn, or of its text for part 0. */
  async function sealPart(tenant: string, turnId: string, number: number, by: { writer: string } | null) {
    for (;;) {
      const held = await readHeldText(pool, tenant, turnId, number)
      if (!held || held.sealed || (by && by.writer !== held.writer)) return
      // The sweep must not renew the lease of a turn without held-back text.
      if (!by && held.raw.length === held.published) return
      const part = number === 0 ? null : { number, content: null, isComplete: false }
      const delta = { tenant, turnId, viewer: held.viewer, writer: held.writer, part, start: null, text: '' }
      if ((await advance(delta, held, '', 'sealed')).outcome !== 'moved') return
    }
  }

  async function seal(tenant: string, turnId: string, by: { writer: string } | null): Promise<void> {
    for (const number of await readHeldParts(pool, tenant, turnId)) await sealPart(tenant, turnId, number, by)
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
