// Converts turns for compaction: to the summarizer's input (speaker, time, text) and to span candidates, the turns that
// a summary may cover. In the input, each tool call, result, file, source and data part is one line; reasoning is omitted.

import type { SummarizerTurn } from '../../../providers/ports/summarizer.ts'
import type { CallRef, UncoveredTurn } from '../../../store/sql/memory/summary/read-uncovered-turns.ts'
import type { ContentPart } from '../../turn/content.ts'
import { partsOf } from '../../turn/content.ts'
import type { SpanCandidate } from './span.ts'

/** Maximum length of the JSON of arguments, a result or data, in UTF-16 units; longer JSON is cut. */
const MAX_DETAIL = 4_000

const detail = (value: unknown) => (JSON.stringify(value) ?? '').slice(0, MAX_DETAIL).toWellFormed()

function renderPart(part: ContentPart): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'toolCall':
      return `(calls ${part.name} with ${detail(part.arguments)})`
    case 'toolResult':
      return `(${part.name} answered ${detail(part.result)})`
    case 'file':
      return `(file ${part.fileName ?? (part.attachmentId ? 'without a name' : part.url)}, ${part.mediaType}${part.caption ? `: ${part.caption}` : ''})`
    case 'source':
      return `(source ${part.title ?? part.url})`
    case 'data':
      return `(data ${detail(part.data)})`
    case 'reasoning':
      return ''
  }
}

const contentOf = (turn: UncoveredTurn): ContentPart[] => partsOf(turn)

export const toSummarizerTurn = (turn: UncoveredTurn): SummarizerTurn => ({
  speaker: turn.actor,
  at: turn.createdAt,
  text: contentOf(turn).map(renderPart).filter(Boolean).join('\n'),
})

/** Milliseconds after which a tool call without a result counts as abandoned and no longer blocks summaries. */
const ABANDONED_MS = 60 * 60 * 1000

export function toSpanCandidate(turn: UncoveredTurn, now: number): SpanCandidate {
  const calls: CallRef[] = []
  const answers: CallRef[] = []
  for (const part of contentOf(turn)) {
    if (part.type === 'toolCall') calls.push({ position: turn.position, callId: part.callId })
    if (part.type === 'toolResult' && part.callPosition !== undefined) {
      answers.push({ position: part.callPosition, callId: part.callId })
    }
  }
  return {
    position: turn.position,
    tokenCount: turn.tokenCount,
    isOpen: turn.status === 'STREAMING',
    calls,
    answers,
    isWaiting: now - turn.writtenAt.getTime() < ABANDONED_MS,
  }
}
