// Adds the bytes of images to the messages of a provider's call, just before the call: a context only names attachments, so
// that neither building nor storing one reads files. Other files, and images beyond the limits, stay names.

import type { ProviderAdapter, ProviderFilePart, ProviderMessage } from '../../../providers/ports/provider-adapter.ts'
import { keyOf, type Files } from './attachment.ts'

/** Maximum number of images of attachments in one call, and of their bytes. The newest ones are sent. @internal */
export const MAX_IMAGES = 10
const MAX_IMAGE_BYTES = 20 * 1024 * 1024

/** An image of an attachment among the parts of a message. */
type ImagePart = ProviderFilePart & { image: NonNullable<ProviderFilePart['image']> }

const isImage = (part: ProviderMessage['content'][number]): part is ImagePart =>
  part.type === 'file' && (part as ProviderFilePart).image !== undefined

/** Returns the newest images within the limits. */
function chosenOf(messages: readonly ProviderMessage[]): Set<ImagePart> {
  const chosen = new Set<ImagePart>()
  let bytes = 0
  for (const part of messages.flatMap(({ content }) => content.filter(isImage)).toReversed()) {
    if (chosen.size === MAX_IMAGES || bytes + part.image.bytes > MAX_IMAGE_BYTES) break
    bytes += part.image.bytes
    chosen.add(part)
  }
  return chosen
}

type Call = { files: Files; tenant: string; adapter: Pick<ProviderAdapter, 'fetchesUrl'> }

/** Returns the URL from which the provider gets the image: a signed one if it fetches it, otherwise a data URL. */
async function urlOf({ files, tenant, adapter }: Call, { mediaType, image }: ImagePart): Promise<string | null> {
  if (files.isPublic) {
    const { url } = files.links.sign(tenant, image.id)
    if (await adapter.fetchesUrl?.(mediaType, url)) return url
  }
  const stream = await files.store.get(keyOf(tenant, image.sha256))
  if (!stream) return null
  const parts: Uint8Array[] = []
  for await (const part of stream as AsyncIterable<Uint8Array>) parts.push(part)
  return `data:${mediaType};base64,${Buffer.concat(parts).toString('base64')}`
}

/**
 * Returns the messages with the URLs of the newest images. An image that was erased meanwhile, or whose bytes the store does
 * not have, stays a name.
 */
export async function sendImages(call: Call, messages: readonly ProviderMessage[]): Promise<ProviderMessage[]> {
  const urls = new Map<unknown, string>()
  for (const part of chosenOf(messages)) {
    const url = await urlOf(call, part)
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
