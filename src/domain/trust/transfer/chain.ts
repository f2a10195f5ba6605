// The chained hash of the lines of a transfer file: each hash covers the previous hash and the next line. So a transfer
// that continues needs only the last hash, and two files with equal lines have equal hashes. Pure.

import { createHash } from 'node:crypto'

/** The hash before the first line. */
export const FIRST_HASH = ''

/** Returns the SHA-256 of the text in hexadecimal. */
export const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')

/** Returns the hash after the line: SHA-256 of the previous hash in hexadecimal and the line, without its line break. */
export const chainHash = (previous: string, line: string): string =>
  createHash('sha256').update(previous, 'utf8').update(line, 'utf8').digest('hex')
