// The writer of a streaming turn: a client that knows the token with which it opened the turn. The client generates the
// token, so a lost response does not lose it. Only a hash of the token is stored, so readers of the database cannot
// write to the turn.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { text } from '../../kernel/input.ts'

/** Minimum and maximum length of a writer's token, in characters. */
export const WRITER_TOKEN = { min: 16, max: 200 }

export const writerToken = text(WRITER_TOKEN.max).pipe(
  z.string().min(WRITER_TOKEN.min, `must have at least ${WRITER_TOKEN.min} characters`),
)

/** Returns the stored form of a token: SHA-256 in hexadecimal digits. */
export const hashOfWriter = (token: string): string => createHash('sha256').update(token, 'utf8').digest('hex')
