// Reads the width and the height of an image from its header. Pure. Nothing is decoded, so that a small file cannot make
// the server allocate the memory of a large image.

export type ImageSize = { width: number; height: number }

/** Maximum number of pixels of an image: browsers that show it allocate 4 bytes for each. */
export const MAX_PIXELS = 100_000_000

function png(bytes: Buffer): ImageSize | null {
  if (bytes.length < 24 || bytes.toString('latin1', 12, 16) !== 'IHDR') return null
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function gif(bytes: Buffer): ImageSize | null {
  return bytes.length < 10 ? null : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

function webp(bytes: Buffer): ImageSize | null {
  if (bytes.length < 30) return null
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}

/** Whether the marker begins a frame, whose header has the size. DHT, JPG and DAC are in the same range. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
/** Whether the marker has no length: padding, TEM and the restart markers. */
const isAlone = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)

function jpeg(bytes: Buffer): ImageSize | null {
  for (let at = 2; at + 9 <= bytes.length;) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1]!
    if (marker === 0xff) {
      at += 1
    } else if (isAlone(marker)) {
      at += 2
    } else if (isFrame(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    } else {
      const length = bytes.readUInt16BE(at + 2)
      if (length < 2) return null
      at += 2 + length
    }
  }
  return null
}

const READERS: Readonly<Record<string, (bytes: Buffer) => ImageSize | null>> = {
  'image/png': png,
  'image/gif': gif,
  'image/webp': webp,
  'image/jpeg': jpeg,
}

/** Whether the server reads the size of images of this type. */
export const isImage = (mediaType: string): boolean => mediaType in READERS

/** Returns the size of an image of the type; null if the header is damaged or states no area. */
export function sizeOfImage(mediaType: string, bytes: Buffer): ImageSize | null {
  const size = READERS[mediaType]?.(bytes) ?? null
  return size && size.width > 0 && size.height > 0 ? size : null
}

/**
 * Returns the number of tokens that a model reads for an image, by OpenAI's rule for detailed images: the image is scaled
 * down to fit into 2048 × 2048, then until its shorter side has 768 pixels; 85 tokens, and 170 for each tile of 512 × 512
 * (https://platform.openai.com/docs/guides/images-vision#calculating-costs). Other providers count less or about as much.
 */
export function imageTokens({ width, height }: ImageSize): number {
  const fit = Math.min(1, 2048 / Math.max(width, height))
  const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit))
  const tiles = Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
  return 85 + 170 * tiles
}
