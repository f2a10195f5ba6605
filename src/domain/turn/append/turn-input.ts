// Schemas of the input that appends a turn, opens a streaming turn, or writes a newer version of a turn; the digest by
// which repeated input is compared; and the token of the writer of a streaming turn. The client generates the token, so a lost response does not lose it. Only its hash is
// stored, so readers of the database cannot write to the turn.

import { z } from 'zod'
import { Role } from '../../../store/generated/enums.ts'
import { audience, count, id, metadata, name, pastTime, text } from '../../kernel/input.ts'
import { parts } from '../content.ts'
import { createHash, hash } from 'node:crypto'

const citation = z.object({
  documentId: text(1000).nullish(),
  documentName: text(1000).nullish(),
  chunk: text(65_536).nullish(),
  score: z.number().nullish(),
})

/** A clientId that runs use for the results of their calls. */
const OF_RUN = /^run_\w{26}:\d+$/
const clientId = name.refine(
  (value) => !OF_RUN.test(value),
  'must not be the id of a run, a colon and a number: runs use these for their results',
)

export const turnInput = z.object({
  actor: name.nullish(),
  role: z.enum(Role),
  content: z.string().nullish(),
  parts: parts.nullish(),
  clientId: clientId.nullish(),
  audience: audience.nullish(),
  replyToId: id('turn').nullish(),
  contextId: id('context').nullish(),
  pinned: z.boolean().nullish(),
  tokenUsage: z.object({ prompt: count, completion: count }).nullish(),
  model: name.nullish(),
  adapter: name.nullish(),
  traceId: name.nullish(),
  citations: z.array(citation).max(100).nullish(),
  metadata: metadata.nullish(),
  createdAt: pastTime.nullish(),
})
export type TurnInput = z.input<typeof turnInput>

/** The input of a streaming turn: its text is sent later. */
export const streamingTurnInput = turnInput.omit({ content: true, parts: true }).strict()

/** The input of a newer version. It has no audience, because the audience of a turn cannot change. */
export const turnVersionInput = turnInput.omit({ audience: true }).strict()
export type ParsedTurn = z.output<typeof turnInput>

/** Minimum and maximum length of a writer's token, in characters. */
export const WRITER_TOKEN = { min: 16, max: 200 }

export const writerToken = text(WRITER_TOKEN.max).pipe(
  z.string().min(WRITER_TOKEN.min, `must have at least ${WRITER_TOKEN.min} characters`),
)

/** Returns the stored form of a token: SHA-256 in hexadecimal digits. */
export const hashOfWriter = (token: string): string => hash('sha256', token, 'hex')

/** Returns JSON with sorted keys and without null fields, so that equal values have the same text. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner) && !(inner instanceof Date)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, v]) => v !== undefined && v !== null)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  )
}

/** Digest that detects different content for the same clientId: 32 hex digits of SHA-256 over the canonical input. */
export function digest(input: unknown): string {
  return createHash('sha256').update(canonical(input)).digest('hex').slice(0, 32)
}
