// What is counted as the tokens of a turn's content: the text of each part, and a number for each image. Pure.

import { imageTokens } from '../../conversation/attachment/image-size.ts'
import type { ContentPart } from './part.ts'

/** Returns the text of a part for counting tokens: approximately the text that a model reads. */
export function countedText(part: ContentPart): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'reasoning':
      return part.reasoning
    case 'toolCall':
      return `${part.name} ${JSON.stringify(part.arguments)}`
    case 'toolResult':
      return `${part.name} ${JSON.stringify(part.result)}`
    case 'file':
      return `${part.mediaType} ${part.attachmentId ? (part.fileName ?? '') : part.url} ${part.caption ?? ''}`.trimEnd()
    case 'source':
      return `${part.url} ${part.title ?? ''}`.trimEnd()
    case 'data':
      return JSON.stringify(part.data)
  }
}

/** Returns the number of tokens that a model reads for the images among the parts, besides their texts. */
export function imageTokensOf(parts: readonly ContentPart[]): number {
  let sum = 0
  for (const part of parts) {
    const { width, height } = (part.type === 'file' && part.attachment) || { width: null, height: null }
    if (width !== null && height !== null) sum += imageTokens({ width, height })
  }
  return sum
}
