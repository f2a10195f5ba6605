// Estimates the size of an event before it is rendered. Buffers of events are limited by this estimate.

import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import type { TurnRow } from '../../../store/sql/turn/turn-columns.ts'
import type { Run } from '../../agent/definition/visible.ts'
import type { ConversationEvent, VisibleEvent } from './event.ts'

/** Estimated size of the fields with a limited length, in bytes. */
const BASE_BYTES = 512

/** Returns the UTF-16 units of the texts and keys in a JSON value, plus 8 for each value. */
function jsonSize(value: unknown): number {
  if (typeof value === 'string') return 8 + value.length
  if (typeof value !== 'object' || value === null) return 8
  let size = 8
  for (const [key, each] of Object.entries(value)) size += key.length + jsonSize(each)
  return size
}

/** Returns the size of a turn. `turn` is null if the viewer does not see it. */
function turnSize(turn: TurnRow | null): number {
  if (!turn) return BASE_BYTES
  const { text, parts, metadata, citations } = turn
  return (
    BASE_BYTES
    + text.length
    + (parts ? jsonSize(parts) : 0)
    + (metadata ? jsonSize(metadata) : 0)
    + (citations ? jsonSize(citations) : 0)
  )
}

/** Returns the size of a run. Events of the journal contain the run's options; events that viewers receive do not. */
const runSize = (run: RunRow | Run): number =>
  BASE_BYTES + (run.errorMessage?.length ?? 0) + ('options' in run ? jsonSize(run.options) + jsonSize(run.audience) : 0)

/**
 * Returns the approximate size of the event in bytes. Counts each UTF-16 unit of text as one byte, although it takes up
 * to three in UTF-8.
 */
export function sizeOfEvent(event: ConversationEvent | VisibleEvent): number {
  switch (event.type) {
    case 'TurnAppended':
    case 'TurnOpened':
    case 'TurnCommitted':
    case 'TurnAborted':
    case 'TurnUpdated':
    case 'TurnErased':
    case 'WakeUpsStopped':
      return turnSize(event.turn)
    case 'TurnSuperseded':
      return turnSize(event.turn) + turnSize(event.by)
    case 'TurnDelta':
      return BASE_BYTES + event.text.length
    case 'TurnPartDelta':
      return BASE_BYTES + event.part.text.length - event.start + jsonSize(event.part.content)
    case 'SummaryWritten':
      return BASE_BYTES + jsonSize(event.summary)
    case 'FactsChanged':
      return BASE_BYTES * (1 + ('facts' in event ? event.facts : event.factIds).length)
    case 'ApprovalRequested':
    case 'ApprovalResolved':
      return BASE_BYTES + jsonSize(event.approval.editedArguments) + (event.approval.reason?.length ?? 0)
    case 'SharedStateChanged':
      return BASE_BYTES + jsonSize(event.patch)
    case 'RunStarted':
    case 'RunChanged':
      return runSize(event.run)
    default:
      return BASE_BYTES
  }
}
