// The variables of attachments: where their bytes are kept, their limits, and the public address of the server.

import { z } from 'zod'
import { endpoint, whole } from '../runtime/fields.ts'

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** The media types that the server finds by the bytes of a file (src/domain/conversation/attachment/media-type.ts). */
const TYPES = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'application/pdf',
  'text/plain',
  'text/markdown',
  'text/csv',
  'application/json',
  'audio/mpeg',
  'audio/wav',
  'video/mp4',
  'video/webm',
] as const

const types = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim().toLowerCase())
      .filter(Boolean),
  )
  .pipe(z.array(z.enum(TYPES, `must be among ${TYPES.join(', ')}, separated by commas`)).min(1, 'must not be empty'))
  .prefault(TYPES.join(','))

const text = z.string().min(1).optional()

/** The variables that FILES_S3_BUCKET needs. */
const S3 = ['FILES_S3_ENDPOINT', 'FILES_S3_KEY_ID', 'FILES_S3_SECRET'] as const

export const fileVariables = {
  FILES_DIR: text.describe('Directory of the bytes of attachments. Unset: `files` in `DATA_DIR`.'),
  FILES_S3_BUCKET: text.describe(
    'Bucket of an S3-compatible object store for the bytes of attachments, instead of `FILES_DIR`. Unset: they are on disk.',
  ),
  FILES_S3_ENDPOINT: endpoint.optional().describe('URL of the object store, without the bucket.'),
  FILES_S3_REGION: z.string().prefault('us-east-1').describe('Region of the object store.'),
  FILES_S3_KEY_ID: text.describe('Id of the access key of the object store.'),
  FILES_S3_SECRET: text.describe('Secret of the access key of the object store.'),
  FILE_TYPES: types.describe(
    'Media types of the files that may be uploaded, separated by commas. The server finds the type by the bytes.',
  ),
  MAX_FILE_BYTES: whole(KiB, 64 * MiB, 10 * MiB).describe('Maximum size of one uploaded file, in bytes.'),
  MAX_CONVERSATION_FILE_BYTES: whole(MiB, 1024 * GiB, GiB).describe(
    'Maximum size of all attachments of a conversation, in bytes.',
  ),
  MAX_TENANT_FILE_BYTES: whole(MiB, 1024 * GiB, 20 * GiB).describe(
    'Maximum size of all attachments of a tenant, in bytes.',
  ),
  PUBLIC_URL: endpoint
    .optional()
    .describe(
      'Address at which clients and model providers reach the server, for example `https://chat.example`. Signed URLs '
        + 'of attachments begin with it, and providers fetch images from it. Unset: signed URLs are paths, and images '
        + 'are sent to providers as base64.',
    ),
}

type Values = z.output<z.ZodObject<typeof fileVariables>>

/** Where the bytes of attachments are kept, and their limits. */
export const filesOf = (env: Values & { DATA_DIR: string }) => ({
  store: env.FILES_S3_BUCKET
    ? {
        kind: 's3' as const,
        endpoint: env.FILES_S3_ENDPOINT!,
        region: env.FILES_S3_REGION,
        bucket: env.FILES_S3_BUCKET,
        accessKeyId: env.FILES_S3_KEY_ID!,
        secretAccessKey: env.FILES_S3_SECRET!,
      }
    : { kind: 'disk' as const, directory: env.FILES_DIR ?? null },
  publicUrl: env.PUBLIC_URL ?? null,
  types: env.FILE_TYPES as readonly string[],
  fileBytes: env.MAX_FILE_BYTES,
  conversationBytes: env.MAX_CONVERSATION_FILE_BYTES,
  tenantBytes: env.MAX_TENANT_FILE_BYTES,
})

/** The check that the object store has its address and its credentials. */
export const filesCheck = {
  variables: ['FILES_S3_BUCKET', ...S3],
  problems: (env: Partial<Record<'FILES_S3_BUCKET' | (typeof S3)[number], string | undefined>>): [string, string][] =>
    env.FILES_S3_BUCKET ? S3.filter((name) => !env[name]).map((name) => ['FILES_S3_BUCKET', `requires ${name}`]) : [],
}
