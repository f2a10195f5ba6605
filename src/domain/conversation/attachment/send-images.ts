// Adds the bytes of images to the messages of a provider's call, just before the call: a context only names attachments, so
// that neither building nor storing one reads files. Other files, and images beyond the limits, stay names.

import { addAbortSignal } from 'node:stream'
import type { ProviderAdapter, ProviderFilePart, ProviderMessage } from '../../../providers/ports/provider-adapter.ts'
import { readAttachmentsOf } from '../../../store/sql/conversation/attachment/read-attachments-of.ts'
import type { Platform } from '../../kernel/platform.ts'
import { keyOf, type Attachment, type Files } from './attachment.ts'

/** Maximum number of images of attachments in one call, and of their bytes. The newest ones are sent. @internal */
export const MAX_IMAGES = 10
const MAX_IMAGE_BYTES = 20 * 1024 * 1024

/** An image of an attachment among the parts of a message. */
type ImagePart = ProviderFilePart & { image: NonNullable<ProviderFilePart['image']> }

const isImage = (part: ProviderMessage['content'][number]): part is ImagePart =>
  part.type === 'file' && (part as ProviderFilePart).image !== undefined

/** Returns the newest images of users within the limits. An image that does not fit leaves the space to older ones. */
function chosenOf(messages: readonly ProviderMessage[]): Set<ImagePart> {
  const chosen = new Set<ImagePart>()
  let bytes = 0
  const images = messages.flatMap(({ role, content }) => (role === 'user' ? content.filter(isImage) : []))
  for (const part of images.toReversed()) {
    if (chosen.size === MAX_IMAGES) break
    if (bytes + part.image.bytes > MAX_IMAGE_BYTES) continue
    bytes += part.image.bytes
    chosen.add(part)
  }
  return chosen
}

/** The call: its conversation, its provider, and the signal that aborts it. */
export type ImageCall = {
  tenant: string
  conversationId: string
  adapter: Pick<ProviderAdapter, 'acceptsImages' | 'fetchesUrl'>
  signal: AbortSignal
}

type ImageDeps = Pick<Platform, 'db' | 'log'> & { files: Files }

/** Returns the bytes as a data URL; null if the store does not have them. @throws the error of the store or the signal */
async function dataUrlOf(files: Files, { tenant, signal }: ImageCall, { mediaType, sha256 }: Attachment) {
  const stream = await files.store.get(keyOf(tenant, sha256))
  if (!stream) return null
  const parts: Uint8Array[] = []
  for await (const part of addAbortSignal(signal, stream) as AsyncIterable<Uint8Array>) parts.push(part)
  return `data:${mediaType};base64,${Buffer.concat(parts).toString('base64')}`
}

/** Returns the URL from which the provider gets the image: a signed one if it fetches it, otherwise a data URL. */
async function urlOf({ files, log }: ImageDeps, call: ImageCall, image: Attachment): Promise<string | null> {
  const { tenant, adapter, signal } = call
  if (files.isPublic) {
    const { url } = files.links.sign(tenant, image.id)
    if (await adapter.fetchesUrl?.(image.mediaType, url)) return url
  }
  try {
    return await dataUrlOf(files, call, image)
  } catch (err) {
    signal.throwIfAborted()
    log.error({ err, attachmentId: image.id }, 'an image is named as text, because the file store failed')
    return null
  }
}

/**
 * Returns the messages with the URLs of the newest images. An image stays a name if it was erased meanwhile, the store does
 * not return its bytes, or the provider's models accept no images.
 * @throws the reason of the signal
 */
export async function sendImages(
  deps: ImageDeps,
  call: ImageCall,
  messages: readonly ProviderMessage[],
): Promise<ProviderMessage[]> {
  const chosen = call.adapter.acceptsImages ? [...chosenOf(messages)] : []
  const ids = chosen.map(({ image }) => image.id)
  const rows = ids.length === 0 ? [] : await readAttachmentsOf(deps.db, call.tenant, call.conversationId, ids)
  const found = new Map(rows.map((row) => [row.id, row]))
  const urls = new Map<unknown, string>()
  for (const part of chosen) {
    call.signal.throwIfAborted()
    const image = found.get(part.image.id)
    const url = image ? await urlOf(deps, call, image) : null
    if (url !== null) urls.set(part, url)
  }
  return messages.map((message) => ({
    ...message,
    content: message.content.map((part) => {
      if (!isImage(part)) return part
      const { image: _image, ...file } = part
      return { ...file, url: urls.get(part) ?? file.url }
    }),
  }))
}
