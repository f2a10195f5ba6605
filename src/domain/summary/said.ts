// What a summarizer is told of a turn: who said what. Calls, results and files are named in a line; reasoning is not
// part of what was said.

import type { Said } from '../../providers/ports/summarizer.ts'
import type { UncoveredTurn } from '../../store/sql/summary/read-uncovered-turns.ts'
import type { ContentPart } from '../turn/content.ts'
import { partsOf } from '../turn/content.ts'
import type { SpanCandidate } from './span.ts'

/** Characters of the arguments or the result of one call that are told. */
const DETAIL = 4_000

const detail = (value: unknown) => (JSON.stringify(value) ?? '').slice(0, DETAIL).toWellFormed()

function told(part: ContentPart): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'toolCall':
      return `(calls ${part.name} with ${detail(part.arguments)})`
    case 'toolResult':
      return `(${part.name} answered ${detail(part.result)})`
    case 'file':
      return `(file ${part.fileName ?? part.url}, ${part.mediaType})`
    case 'data':
      return `(data ${detail(part.data)})`
    case 'reasoning':
      return ''
  }
}

const contentOf = (turn: UncoveredTurn): ContentPart[] =>
  partsOf({ text: turn.text, parts: turn.parts as ContentPart[] | null })

export const saidIn = (turn: UncoveredTurn): Said => ({
  speaker: turn.actor,
  at: turn.createdAt,
  text: contentOf(turn).map(told).filter(Boolean).join('\n'),
})

/** A call without a result for this long is taken for abandoned: it must not stop summaries for ever. */
const ABANDONED_MS = 60 * 60 * 1000

export function toSpanCandidate(turn: UncoveredTurn, now: number): SpanCandidate {
  const calls: string[] = []
  const answers: string[] = []
  for (const part of contentOf(turn)) {
    if (part.type === 'toolCall') calls.push(part.callId)
    if (part.type === 'toolResult') answers.push(part.callId)
  }
  return {
    rootSeq: turn.rootSeq,
    tokenCount: turn.tokenCount,
    isOpen: turn.status === 'STREAMING',
    calls,
    answers,
    isWaiting: now - turn.writtenAt.getTime() < ABANDONED_MS,
  }
}
