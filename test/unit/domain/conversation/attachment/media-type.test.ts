// The media type of a file by its bytes, and the types that a client may state for it.

import { describe, expect, it } from 'vitest'
import { agreedType, statedType, typeByBytes } from '../../../../../src/domain/conversation/attachment/media-type.ts'
import { imageTokens, sizeOfImage } from '../../../../../src/domain/conversation/attachment/image-size.ts'
import { png } from '../../../../support/files.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe('typeByBytes', () => {
  it.each<[string, Buffer]>([
    ['image/png', png(1, 1)],
    ['image/jpeg', hex('ffd8ffe0 00104a464946')],
    ['image/gif', bytes('GIF89a')],
    ['image/webp', bytes('RIFF\0\0\0\0WEBPVP8 ')],
    ['audio/wav', bytes('RIFF\0\0\0\0WAVEfmt ')],
    ['application/pdf', bytes('%PDF-1.7\n')],
    ['video/mp4', bytes('\0\0\0\x18ftypisom')],
    ['image/heic', bytes('\0\0\0\x18ftypheic')],
    ['video/quicktime', bytes('\0\0\0\x18ftypqt  ')],
    ['video/webm', bytes('\x1aE\xdf\xa3\x01\x42\x82\x84webm')],
    ['video/x-matroska', bytes('\x1aE\xdf\xa3\x01\x42\x82\x88matroska')],
    ['audio/mpeg', bytes('ID3\x03')],
    ['audio/mpeg', hex('fffb9064')],
    ['application/zip', bytes('PK\x03\x04')],
    ['text/plain', Buffer.from('Zoë, <b> is bold')],
    ['text/plain', Buffer.from('<3 you')],
    ['text/html', Buffer.from('\ufeff <!-- x --> <!DOCTYPE html>')],
    ['text/html', Buffer.from('<script>1</script>')],
    ['image/svg+xml', Buffer.from('<?xml version="1.0"?><svg xmlns="x"/>')],
    ['application/xml', Buffer.from('<?xml version="1.0"?><a/>')],
    ['application/octet-stream', hex('00ff00')],
    ['application/octet-stream', bytes('latin \xe9')],
  ])('finds %s', (type, given) => {
    expect(typeByBytes(given)).toBe(type)
  })
})

it('accepts the stated type if the bytes can have it', () => {
  expect(agreedType(statedType('image/JPG; q=1'), 'image/jpeg')).toBe('image/jpeg')
  expect(agreedType(statedType(null), 'image/png')).toBe('image/png')
  expect(agreedType(statedType('text/markdown; charset=utf-8'), 'text/plain')).toBe('text/markdown')
  expect(agreedType(statedType('audio/webm;codecs=opus'), 'video/webm')).toBe('video/webm')
  expect(agreedType('image/png', 'image/jpeg')).toBeNull()
  expect(agreedType('text/csv', 'text/html')).toBeNull()
  expect(agreedType('text/html', 'text/plain')).toBeNull()
})

describe('sizeOfImage', () => {
  const webp = (chunk: string, rest: string) => Buffer.concat([bytes(`RIFF\0\0\0\0WEBP${chunk}`), hex(rest)])

  it.each<[string, string, Buffer, [number, number] | null]>([
    ['a PNG', 'image/png', png(640, 480), [640, 480]],
    ['a PNG without header', 'image/png', png(1, 1).subarray(0, 20), null],
    ['a GIF', 'image/gif', hex('474946383961 8002 e001'), [640, 480]],
    ['a JPEG', 'image/jpeg', hex('ffd8 ffe00004aaaa ffff c0 0011 08 01e0 0280 03'), [640, 480]],
    ['a JPEG without frame', 'image/jpeg', hex('ffd8 ffe00004aaaa ffd9'), null],
    ['a JPEG with a wrong length', 'image/jpeg', hex('ffd8 ffe00000 ffff ffff ffff'), null],
    ['a lossy WebP', 'image/webp', webp('VP8 ', '00000000 000000 9d012a 8002 e001'), [640, 480]],
    ['a lossless WebP', 'image/webp', webp('VP8L', '00000000 2f 7fc27700 0000000000'), [640, 480]],
    ['an extended WebP', 'image/webp', webp('VP8X', '00000000 00000000 7f0200 df0100'), [640, 480]],
    ['another file', 'application/pdf', bytes('%PDF-'), null],
  ])('of %s', (_, type, given, size) => {
    expect(sizeOfImage(type, given)).toEqual(size && { width: size[0], height: size[1] })
  })
})

it('counts the tokens of images by tiles', () => {
  expect(imageTokens({ width: 1024, height: 1024 })).toBe(765)
  expect(imageTokens({ width: 2048, height: 4096 })).toBe(1105)
  expect(imageTokens({ width: 1, height: 1 })).toBe(255)
  expect(imageTokens({ width: 100_000, height: 1 })).toBe(85 + 170 * 4)
})
