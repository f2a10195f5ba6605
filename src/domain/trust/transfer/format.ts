// The format of a transfer file: one JSON object a line. The first line is the manifest; then come the conversations,
// each with its journal, its participants and an end line; then facts, profiles, receipts and legal holds; and last the
// end line with the counts and the hash. Each hash covers the previous hash and the next line, so that a transfer that
// continues needs only the last hash. docs/import-and-export.md describes it. Pure.

import { z } from 'zod'
import {
  CompactionStrategy,
  ConversationVisibility,
  EntryKind,
  ErasureKind,
  HistoryVisibility,
  ParticipantKind,
  Respond,
  Retention,
  Role,
  SupersedeReason,
  TransferScope,
  TurnStatus,
} from '../../../store/generated/enums.ts'
import * as columns from '../../../store/sql/trust/transfer/columns.ts'
import type { Column, ColumnType } from '../../../store/sql/trust/transfer/columns.ts'
import { nearest } from '../../../text/nearest.ts'
import { MAX_WRITERS } from '../../conversation/shared-state/shared-state.ts'
import { stateValue } from '../../conversation/shared-state/state-input.ts'
import { jsonSchema } from '../../kernel/json-schema.ts'
import type { Line, Values } from './line-types.ts'
import { statementShape } from '../../memory/fact/content-hash.ts'
import { id, isTooDeep, json, name, storable, TOO_DEEP } from '../../kernel/input.ts'
import { createHash } from 'node:crypto'

export const FORMAT = 'colloquy-transcript'
/** The version of the format that this server writes, and the newest that it reads. */
export const FORMAT_VERSION = 1
/** Maximum size of one line, in UTF-8 bytes. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024

const text = z.string().superRefine((value, context) => {
  const problem = storable(value)
  if (problem) context.addIssue({ code: 'custom', message: problem })
})
const MAX_INTEGER = 2_147_483_647
const integer = z.int().min(-MAX_INTEGER).max(MAX_INTEGER)
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/, 'must be a time in UTC, such as 2026-01-31T12:00:00.000Z')
  .refine((value) => !Number.isNaN(Date.parse(value)), 'is not a time')

const TYPES: Record<ColumnType, z.ZodType> = {
  text,
  'text[]': z.array(text),
  integer,
  'integer[]': z.array(integer),
  bigint: z.int(),
  'double precision': z.number(),
  boolean: z.boolean(),
  jsonb: json,
  json,
  timestamptz: time,
  participant_kind: z.enum(ParticipantKind),
  conversation_visibility: z.enum(ConversationVisibility),
  compaction_strategy: z.enum(CompactionStrategy),
  retention: z.enum(Retention),
  entry_kind: z.enum(EntryKind),
  history_visibility: z.enum(HistoryVisibility),
  respond: z.enum(Respond),
  role: z.enum(Role),
  turn_status: z.enum(TurnStatus),
  supersede_reason: z.enum(SupersedeReason),
  erasure_kind: z.enum(ErasureKind),
}

/** Properties with names of at most 200 characters: the keys of objects, which indexes contain. */
const NAMES = new Set([
  'owner',
  'actor',
  'userId',
  'assertedBy',
  'key',
  'keyScope',
  'agentName',
  'clientId',
  'source',
  'updatedBy',
  'uploadedBy',
])

function typeOf({ key, type, nullable, fallback }: Column): z.ZodType {
  const schema = NAMES.has(key) ? name : TYPES[type]
  return nullable || fallback !== undefined ? schema.optional() : schema
}

const shapeOf = (list: readonly Column[], more: z.ZodRawShape = {}): z.ZodRawShape => ({
  ...Object.fromEntries(list.map((column) => [column.key, typeOf(column)])),
  ...more,
})

const seq = z.int().min(0).max(MAX_INTEGER)
const turn = z.strictObject(shapeOf(columns.TURN, { id: id('turn'), position: seq.min(1), tokenCount: seq.optional() }))
const summary = z.strictObject(shapeOf(columns.SUMMARY, { id: id('summary') }))

/** Maximum number of bytes of a file in one line. */
export const CHUNK_BYTES = 256 * 1024
/** Maximum size of an imported file, in bytes: the largest value of MAX_FILE_BYTES. */
const MAX_FILE_BYTES = 64 * 1024 * 1024
const BASE64 = /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/

const windows = z
  .array(seq)
  .min(1, 'must not be empty')
  .refine((list) => list.every((each, index) => index === 0 || each >= list[index - 1]!), 'must be ascending')

const LINES = {
  conversation: z.strictObject(
    shapeOf(columns.CONVERSATION, {
      type: z.literal('conversation'),
      id: id('conversation'),
      lastSeq: seq,
      updatedAt: time,
      agentTurns: seq.optional(),
      extractedThrough: seq.optional(),
    }),
  ),
  entry: z.strictObject(
    shapeOf(columns.ENTRY, {
      type: z.literal('entry'),
      seq: seq.min(1),
      turn: turn.optional(),
      summary: summary.optional(),
    }),
  ),
  attachment: z.strictObject(
    shapeOf(columns.ATTACHMENT, {
      type: z.literal('attachment'),
      id: id('attachment'),
      position: seq.min(1),
      sha256: z.string().regex(/^[\da-f]{64}$/, 'must be a SHA-256'),
      bytes: z.int().min(1).max(MAX_FILE_BYTES, `must be at most ${MAX_FILE_BYTES}`),
    }),
  ),
  fileBytes: z.strictObject({
    type: z.literal('fileBytes'),
    /** The next bytes of the attachment before, in Base64. */
    base64: z
      .string()
      .min(1)
      .max(Math.ceil(CHUNK_BYTES / 3) * 4, `must be at most ${CHUNK_BYTES} bytes`)
      .regex(BASE64, 'must be Base64'),
  }),
  /** The other bytes of the attachment before could not be exported: it is left out. */
  fileMissing: z.strictObject({ type: z.literal('fileMissing') }),
  participant: z.strictObject(shapeOf(columns.PARTICIPANT, { type: z.literal('participant'), windows })),
  sharedState: z.strictObject(
    shapeOf(columns.SHARED_STATE, {
      type: z.literal('sharedState'),
      value: stateValue.optional(),
      schema: jsonSchema.optional(),
      version: seq.min(1),
      writers: z.array(name).min(1).max(MAX_WRITERS),
    }),
  ),
  conversationEnd: z.strictObject({
    type: z.literal('conversationEnd'),
    id: id('conversation'),
    /** The chained hash of all lines before this one; absent in files of other programs. */
    sha256: z.string().optional(),
  }),
  fact: z.strictObject(
    shapeOf(columns.FACT, {
      ...statementShape,
      type: z.literal('fact'),
      id: id('fact'),
      tokenCount: seq.optional(),
      sources: z.array(z.strictObject(shapeOf(columns.FACT_SOURCE))).min(1),
    }),
  ),
  profile: z.strictObject(shapeOf(columns.PROFILE, { type: z.literal('profile') })),
  erasure: z.strictObject(shapeOf(columns.ERASURE, { type: z.literal('erasure') })),
  heldUser: z.strictObject(shapeOf(columns.HELD_USER, { type: z.literal('heldUser') })),
  end: z.strictObject({
    type: z.literal('end'),
    /** Number of lines between the manifest and this line. */
    lines: seq,
    counts: z.record(z.string(), seq),
    sha256: z.string(),
    manifestSha256: z.string(),
  }),
} as const
export type LineType = keyof typeof LINES
/** @internal */
export const LINE_TYPES = Object.keys(LINES) as readonly LineType[]

export type * from './line-types.ts'

const manifestShape = z.strictObject({
  type: z.literal('manifest'),
  format: z.literal(FORMAT),
  version: z.int(),
  scope: z.enum(TransferScope),
  /** The conversation, owner or user; absent for a tenant. */
  subject: z.string().optional(),
  /** Absent in files of other programs. */
  tenant: z.string().optional(),
  exportedAt: time.optional(),
  /** Version of the server that wrote the file. */
  colloquy: z.string().optional(),
  /** The program that the data comes from, if it is not Colloquy. */
  source: z.string().optional(),
})
export type Manifest = z.output<typeof manifestShape>

/** Why a line cannot be read. The message does not contain its number. */
export class BadLine extends Error {
  override readonly name = 'BadLine'
}

function objectOf(line: string): Values {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new BadLine('is not JSON: the file is damaged, or it is not an export of Colloquy')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadLine('is not a JSON object')
  if (isTooDeep(value)) throw new BadLine(TOO_DEEP)
  return value as Values
}

function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [{ path, message }] = result.error.issues as [z.core.$ZodIssue]
  throw new BadLine(path.length > 0 ? `${path.join('.')}: ${message}` : message)
}

/** Reads the first line of a file. @throws BadLine */
export function parseManifest(line: string): Manifest {
  const value = objectOf(line)
  if (value.format !== FORMAT || value.type !== 'manifest') {
    throw new BadLine(
      `is not the manifest of an export of Colloquy: it must have "type": "manifest" and "format": "${FORMAT}". `
        + 'For a file of another program, give --from.',
    )
  }
  if (typeof value.version === 'number' && value.version > FORMAT_VERSION) {
    throw new BadLine(
      `has version ${value.version} of the format; this server reads versions up to ${FORMAT_VERSION}. Update it first.`,
    )
  }
  return checked(manifestShape, value)
}

/** Reads a line after the first one. @throws BadLine */
export function parseLine(line: string): Line {
  const value = objectOf(line)
  const type = typeof value.type === 'string' ? value.type : ''
  const schema = Object.hasOwn(LINES, type) ? LINES[type as LineType] : undefined
  if (!schema) {
    const similar = nearest(type, LINE_TYPES)
    throw new BadLine(`has the unknown type ${JSON.stringify(type)}${similar ? `. Did you mean ${similar}?` : ''}`)
  }
  return checked(schema as z.ZodType, value) as Line
}

/** Returns the text of a line, without its line break. */
export const printLine = (line: object): string => JSON.stringify(line)

/** The hash before the first line. */
export const FIRST_HASH = ''

/** Returns the SHA-256 of the text in hexadecimal. */
export const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')

/** Returns the hash after the line: SHA-256 of the previous hash in hexadecimal and the line, without its line break. */
export const chainHash = (previous: string, line: string): string =>
  createHash('sha256').update(previous, 'utf8').update(line, 'utf8').digest('hex')
