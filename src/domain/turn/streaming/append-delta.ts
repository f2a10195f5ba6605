// Appends deltas to streaming turns. A delta may be sent again: text that is already stored is dropped if it is equal;
// otherwise the delta fails with Conflict.

import { z } from 'zod'
import { Conflict, InvalidInput } from '../../../errors.ts'
import type { StreamDeps, Written } from './delta-queue.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { count, id, parse } from '../../kernel/input.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { hashOfWriter, writerToken } from '../append/turn-input.ts'
import { streamedPart } from '../content.ts'
import type { FilePart } from '../parts/part.ts'
import { requireTurnWithinReach } from '../turn.ts'
import type { Viewer } from '../../kernel/view.ts'
import { partNumberOf, startsWithSecondHalf, type DeltaWrite } from './delta-batch.ts'
import { hasText, toDeltaPart, type DeltaPart } from '../streamed-part.ts'
import { isRefusal, refusalOf, type Refusal } from './refusal.ts'
import { withStreamedAttachments } from './streamed-attachments.ts'

const appendDeltaInput = z.object({
  turnId: id('turn'),
  writerToken,
  text: z.string().refine((value) => !value.includes('\0'), 'must not contain U+0000'),
  start: count.nullish(),
  part: streamedPart.nullish(),
})
export type AppendDeltaInput = z.input<typeof appendDeltaInput>

/**
 * The end of the turn's text, or of that of the delta's part, after the delta, in UTF-16 units. It includes a trailing
 * half of a surrogate pair.
 */
export type DeltaReceipt = { turnId: string; end: number }

/**
 * Appends text to the turn, or to a part of it, at `start`, or at the end if `start` is absent. The first delta of a part
 * opens it where the turn's text ends. Every accepted delta renews the lease, even without new text. A surrogate pair
 * may be split between two deltas. Deltas of the text, or of one opened part, may be sent without waiting for replies.
 * @throws InvalidInput for malformed text or a malformed part, or a turn over the limit @throws NotFound
 * @throws StreamClosed
 * @throws NotAllowed for another writerToken, or an author who has left
 * @throws Conflict if `start` is beyond the end of the text, different text or another part is stored there, a part
 * before this one is missing, or the part is complete
 */
export async function appendDelta(deps: StreamDeps, viewer: Viewer, input: AppendDeltaInput): Promise<DeltaReceipt> {
  authorize(viewer, 'appendDelta')
  const parsed = parse(appendDeltaInput, input)
  const { turnId, writerToken: token, start, text: content } = parsed
  // Other deltas may complete surrogate halves at the ends of the text, but not halves within it.
  const whole = content.slice(startsWithSecondHalf(content) ? 1 : 0).replace(/[\ud800-\udbff]$/, '')
  if (!whole.isWellFormed()) throw unpairedHalf()
  if (viewer.principal?.conversations) await requireTurnWithinReach(deps, viewer, turnId)
  const part = parsed.part ? await deltaPart(deps, viewer, { turnId, part: parsed.part }, content) : null
  const { tenant, actor } = viewer
  const writer = hashOfWriter(token)
  const delta = { tenant, viewer: actor, turnId, writer, part, start: start ?? null, text: content }
  const { outcome, end, status } = await deps.deltas.write(delta)
  if (isRefusal(outcome)) throw await refusalOf(deps, viewer, turnId, { outcome, status })
  const after = endAfter(deps, delta, { outcome, end })
  deps.writers.wroteInto(tenant, turnId)
  return { turnId, end: after }
}

/** Returns the part of a delta with its sensitive values removed; deltas.write removes those of its text. */
async function deltaPart(
  deps: StreamDeps,
  viewer: Viewer,
  given: { turnId: string; part: z.output<typeof streamedPart> },
  content: string,
) {
  const { part } = await redactInput(deps, viewer, 'appendDelta', given)
  const parsed = await withAttachmentOf(deps, viewer, given.turnId, toDeltaPart(part))
  if (content !== '' && !hasText(parsed.content)) throw InvalidInput.at('text', 'must be empty: the part has no text')
  return parsed
}

/** Returns the part with the attachment that it names. */
async function withAttachmentOf(deps: StreamDeps, viewer: Viewer, turnId: string, part: DeltaPart): Promise<DeltaPart> {
  if (part.content?.type !== 'file') return part
  const parts = [part.content as unknown as FilePart]
  const [content] = await withStreamedAttachments(deps, viewer, { turnId, parts, path: 'part.file' })
  return { ...part, content: content as unknown as DeltaPart['content'] }
}

const unpairedHalf = () => InvalidInput.at('text', 'must not contain half of a surrogate pair without the other half')

/** Returns the end of a delta that was not refused. @throws InvalidInput @throws Conflict */
function endAfter(
  deps: StreamDeps,
  delta: Pick<DeltaWrite, 'turnId' | 'start' | 'part'>,
  { outcome, end }: { outcome: Exclude<Written['outcome'], Refusal>; end: number | null },
): number {
  const { turnId, start } = delta
  const number = partNumberOf(delta)
  const of = number === 0 ? `turn ${turnId}` : `part ${number} of turn ${turnId}`
  switch (outcome) {
    case 'written':
    case 'renewed':
      return end!
    case 'full':
      throw InvalidInput.at('text', `would make the turn longer than ${deps.limits.turnBytes} bytes`)
    case 'half':
      throw unpairedHalf()
    case 'elsewhere':
      throw new Conflict(`The text of ${of} ends at ${end}; the text between ${end} and ${start} is missing.`)
    case 'other':
      throw new Conflict(`The text of ${of} differs at ${start}; it ends at ${end}.`)
    case 'unopened':
      throw new Conflict(
        `Turn ${turnId} has ${end} parts. Part ${end! + 1} comes next, and its first delta says what it is.`,
      )
    case 'other_part':
      throw new Conflict(`What part ${number} of turn ${turnId} is differs from its first delta.`)
    case 'complete':
      throw new Conflict(`Part ${number} of turn ${turnId} is complete; its text ends at ${end}.`)
  }
}
