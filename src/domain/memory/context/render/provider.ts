// Renders messages for the port of chat providers, with the ids of their sources. Reasoning is left out. An adapter
// whose format has no name field must put the names into the text.

import { isFetchable } from '../../../../providers/message-parts.ts'
import type { ProviderContentPart, ProviderMessage } from '../../../../providers/ports/provider-adapter.ts'
import type { ContentPart, FilePart } from '../../../turn/parts/part.ts'
import type { Message } from '../message.ts'
import { callsOf, textOf, toText, type RenderStep } from './step.ts'

/** Returns the attachment of an image, whose bytes are loaded before the call; null for other parts. */
function imageOf({ mediaType, attachmentId: id, attachment }: FilePart) {
  if (id === undefined || !attachment || !mediaType.startsWith('image/')) return null
  return { id, bytes: attachment.bytes }
}

function contentPart(part: ContentPart): ProviderContentPart[] {
  const image = part.type === 'file' ? imageOf(part) : null
  if (part.type === 'file' && (image || isFetchable(part))) {
    const { mediaType, url, fileName, caption } = part
    return [
      {
        type: 'file',
        mediaType,
        url,
        ...(fileName == null ? null : { fileName }),
        ...(caption == null ? null : { caption }),
        ...(image && { image }),
      },
    ]
  }
  const text = toText(part)
  return text === null ? [] : [{ type: 'text', text }]
}

const sources = ({ sourceIds }: Message): ProviderContentPart[] =>
  sourceIds.length === 0 ? [] : [{ type: 'sources', ids: sourceIds }]

/** Renders one step. Returns an empty array for a step without content. */
export function toProvider(step: RenderStep): ProviderMessage[] {
  switch (step.role) {
    case 'system':
      return [{ role: 'system', content: [{ type: 'text', text: step.text }] }]
    case 'tool': {
      const content = step.results.map(({ callId, name, result }) => ({
        type: 'tool-result',
        id: callId,
        name,
        result,
      }))
      return [{ role: 'tool', content }]
    }
    case 'assistant': {
      const text = textOf(step.parts)
      const calls = callsOf(step).map(({ callId, name, arguments: given }) => ({
        type: 'tool-call',
        id: callId,
        name,
        arguments: given,
      }))
      const content: ProviderContentPart[] = [...(text === '' ? [] : [{ type: 'text', text }]), ...calls]
      return content.length === 0 ? [] : [{ role: 'assistant', content: [...content, ...sources(step.message)] }]
    }
    case 'user': {
      const content = step.parts.flatMap(contentPart)
      if (content.length === 0) return []
      const { name } = step.message
      return [{ role: 'user', content: [...content, ...sources(step.message)], ...(name === null ? null : { name }) }]
    }
  }
}
