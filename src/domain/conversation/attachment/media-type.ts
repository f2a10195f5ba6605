// Finds the media type of a file by its bytes, and compares it with the type that the client states. Pure. Reads headers
// only: nothing is decoded or unpacked.

import { isUtf8 } from 'node:buffer'

/** Number of bytes at the start of a file that contain its signature, and the markup of a text. */
const HEAD_BYTES = 1024

const latin1 = (bytes: Buffer, start: number, end: number) => bytes.toString('latin1', start, end)
const startsWith =
  (signature: string, at = 0) =>
  (bytes: Buffer) =>
    latin1(bytes, at, at + signature.length) === signature

const isRiff = (form: string) => (bytes: Buffer) => startsWith('RIFF')(bytes) && startsWith(form, 8)(bytes)
const isEbml = startsWith('\x1aE\xdf\xa3')

/** Brands of ISO media files (ISO/IEC 14496-12) that are not videos in MP4. */
const OTHER_BRANDS: readonly (readonly [brand: RegExp, type: string])[] = [
  [/^(heic|heix|mif1|msf1)/, 'image/heic'],
  [/^avi[fs]/, 'image/avif'],
  [/^M4[AB]/, 'audio/mp4'],
  [/^qt {2}/, 'video/quicktime'],
]

function isoType(bytes: Buffer): string {
  const brand = latin1(bytes, 8, 12)
  return OTHER_BRANDS.find(([pattern]) => pattern.test(brand))?.[1] ?? 'video/mp4'
}

/** Whether the bytes are the header of an MPEG audio frame of layer III. */
const isMpegFrame = (bytes: Buffer) =>
  bytes.length > 3
  && bytes[0] === 0xff
  && (bytes[1]! & 0xe6) === 0xe2
  && (bytes[1]! & 0x18) !== 0x08
  && (bytes[2]! & 0xf0) !== 0xf0
  && (bytes[2]! & 0x0c) !== 0x0c

type Signature = readonly [isOf: (bytes: Buffer) => boolean, type: string | ((bytes: Buffer) => string)]

const SIGNATURES: readonly Signature[] = [
  [startsWith('\x89PNG\r\n\x1a\n'), 'image/png'],
  [startsWith('\xff\xd8\xff'), 'image/jpeg'],
  [(bytes) => /^GIF8[79]a/.test(latin1(bytes, 0, 6)), 'image/gif'],
  [isRiff('WEBP'), 'image/webp'],
  [isRiff('WAVE'), 'audio/wav'],
  [startsWith('%PDF-'), 'application/pdf'],
  [startsWith('ftyp', 4), isoType],
  [isEbml, (bytes) => (latin1(bytes, 0, 64).includes('webm') ? 'video/webm' : 'video/x-matroska')],
  [startsWith('ID3'), 'audio/mpeg'],
  [isMpegFrame, 'audio/mpeg'],
  // Never accepted. They are named, so that the error states what the file is.
  [startsWith('PK\x03\x04'), 'application/zip'],
  [startsWith('\x1f\x8b'), 'application/gzip'],
  [startsWith('\x7fELF'), 'application/x-elf'],
  [startsWith('MZ'), 'application/x-msdownload'],
]

/** Documents that can run scripts, by the markup with which they begin. */
const MARKUP: readonly (readonly [pattern: RegExp, type: string])[] = [
  [/^<!doctype\s+html|^<(?:html|head|body|script|iframe|style|title|div|a|p|h1|img)[\s>/]/i, 'text/html'],
  [/<svg[\s>/]/i, 'image/svg+xml'],
  [/^<\?xml|^<!doctype/i, 'application/xml'],
]

function textType(bytes: Buffer): string {
  const head = bytes
    .toString('utf8', 0, HEAD_BYTES)
    .replace(/^\ufeff/, '')
    .replaceAll(/<!--[^]*?(?:-->|$)/g, '')
    .trimStart()
  const isMarkup = head.startsWith('<')
  return (isMarkup && MARKUP.find(([pattern]) => pattern.test(head))?.[1]) || 'text/plain'
}

/** Whether the bytes are a text: UTF-8 without U+0000. */
const isText = (bytes: Buffer) => isUtf8(bytes) && !bytes.includes(0)

/** Returns the media type of the bytes: `text/plain` for any text without markup, `application/octet-stream` if unknown. */
export function typeByBytes(bytes: Buffer): string {
  const found = SIGNATURES.find(([isOf]) => isOf(bytes))
  if (found) return typeof found[1] === 'string' ? found[1] : found[1](bytes)
  return isText(bytes) ? textType(bytes) : 'application/octet-stream'
}

/** Other names of media types. */
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'audio/mp3': 'audio/mpeg',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/webm': 'video/webm',
  'text/x-markdown': 'text/markdown',
  'application/csv': 'text/csv',
}

/** Types of texts that only the client can tell apart. */
const TEXTS = new Set(['text/plain', 'text/markdown', 'text/csv', 'application/json'])
/** The type of a file about which the client states nothing. */
const UNKNOWN = 'application/octet-stream'

/** Returns the media type of a Content-Type, in lower case and without parameters. */
export function statedType(contentType: string | null): string {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase()
  return type === '' ? UNKNOWN : (ALIASES[type] ?? type)
}

/** Returns the type of a file with the stated type and the type by its bytes; null if they contradict each other. */
export function agreedType(stated: string, found: string): string | null {
  if (stated === UNKNOWN || stated === found) return found
  return found === 'text/plain' && TEXTS.has(stated) ? stated : null
}
