// Reads a file as lines, with memory for one line and one chunk.

import { createReadStream } from 'node:fs'
import type { Hash } from 'node:crypto'
import { MAX_LINE_BYTES } from '../../domain/trust/transfer/format.ts'
import { fileFailure, TransferFailed } from './transfer-failure.ts'

const NEWLINE = 0x0a

/**
 * Yields the lines of a file without their line breaks; the last one need not have a line break.
 * @param hash is updated with the bytes of the file
 * @throws TransferFailed for a file that cannot be read, and for a line of more than MAX_LINE_BYTES
 */
export async function* linesOf(path: string, hash?: Hash): AsyncGenerator<string, void> {
  let parts: Buffer[] = []
  let bytes = 0
  let number = 1
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
      hash?.update(chunk)
      let from = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
        yield Buffer.concat([...parts, chunk.subarray(from, end)]).toString('utf8')
        from = end + 1
        parts = []
        bytes = 0
        number++
      }
      parts.push(chunk.subarray(from))
      bytes += chunk.length - from
      if (bytes > MAX_LINE_BYTES) {
        throw new TransferFailed(`${path}: line ${number} is longer than ${MAX_LINE_BYTES} bytes, the maximum.`)
      }
    }
  } catch (error) {
    throw fileFailure(path, 'read', error)
  }
  if (bytes > 0) yield Buffer.concat(parts).toString('utf8')
}
