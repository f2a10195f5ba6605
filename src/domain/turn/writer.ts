// The writer of a streaming turn: a client that knows the token with which it opened the turn. The client makes the
// token, so a lost answer does not lose it. Only a hash is stored, so the database does not contain what a writer needs.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { text } from '../input.ts'

/** Minimum and maximum length of a writer's token, in UTF-16 units. */
export const WRITER_TOKEN = { min: 16, max: 200 }

export const writerToken = text(WRITER_TOKEN.max).pipe(
  z.string().min(WRITER_TOKEN.min, `must have at least ${WRITER_TOKEN.min} characters`),
)

/** Returns the stored form of a token: SHA-256 in hexadecimal digits. */
export const hashOfWriter = (token: string): string => createHash('sha256').update(token, 'utf8').digest('hex')
