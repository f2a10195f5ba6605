// The messages of a context as messages of an MCP prompt. Pure.

import type { ContentBlock, PromptMessage } from '@modelcontextprotocol/sdk/types.js'
import type { ContextMessage } from '../../client/generated.ts'
import { textOfPart } from '../../text/turn-lines.ts'

type Part = ContextMessage['parts'][number]

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,([A-Za-z0-9+/=]+)$/

/** Returns a file as an image or audio if its URL contains it, or else as a link. */
function fileOf({ url: given, attachment, ...part }: Extract<Part, { __typename: 'FilePart' }>): ContentBlock {
  const { mediaType, fileName, caption } = part
  // Without PUBLIC_URL, a signed URL is a path, which a client of MCP cannot resolve.
  const url = attachment?.url.startsWith('http') ? attachment.url : given
  const [, mimeType, data] = DATA_URL.exec(url) ?? []
  if (mimeType?.startsWith('image/')) return { type: 'image', mimeType, data: data! }
  if (mimeType?.startsWith('audio/')) return { type: 'audio', mimeType, data: data! }
  const description = caption === null ? null : { description: caption }
  return { type: 'resource_link', uri: url, name: fileName ?? mediaType, mimeType: mediaType, ...description }
}

/** Returns the content of a part; null for reasoning and for the application's own data, which models do not get. */
function contentOf(part: Part): ContentBlock | null {
  if (part.__typename === 'TextPart') return part.text === '' ? null : { type: 'text', text: part.text }
  if (part.__typename === 'FilePart') return fileOf(part)
  const text = textOfPart(part)
  return text === null ? null : { type: 'text', text }
}

/**
 * Returns a message for each part, because a message of a prompt has one content. The protocol has only the roles `user`
 * and `assistant`, so the others become `user`, and a user's text starts with the name.
 */
export const messagesOf = (messages: readonly ContextMessage[]): PromptMessage[] =>
  messages.flatMap(({ role, name, parts }) => {
    const ownRole = role === 'ASSISTANT' ? 'assistant' : 'user'
    const label = role === 'SYSTEM' ? 'Instructions' : ownRole === 'user' ? name : null
    return parts.flatMap((part, index): PromptMessage[] => {
      const content = contentOf(part)
      if (!content) return []
      const isLabelled = label !== null && index === 0 && content.type === 'text'
      return [{ role: ownRole, content: isLabelled ? { ...content, text: `${label}: ${content.text}` } : content }]
    })
  })
