// The variables of retention, erasure and the audit log, and the check of retention AUDIT_ONLY.

import { z } from 'zod'
import { whole } from '../runtime/fields.ts'

/** Minimum length of INTEGRITY_KEY, in characters. */
const KEY_LENGTH = 32

export const retentionVariables = {
  INTEGRITY_KEY: z
    .string()
    .min(KEY_LENGTH, `must have at least ${KEY_LENGTH} characters, for example those of \`openssl rand -hex 32\``)
    .optional()
    .describe(
      'Secret from which the keys of the audit log, of erasure receipts and of the hashes of removed content are derived. '
        + 'Unset: the audit log has plain hashes, receipts are not signed, and retention `AUDIT_ONLY` is refused.',
    ),
  AUDIT_DAYS: whole(30, 36_500, 400).describe('Days after which lines of the audit log are deleted.'),
}

type Values = z.output<z.ZodObject<typeof retentionVariables>>

export const retentionOf = (env: Values) => ({ integrityKey: env.INTEGRITY_KEY, auditDays: env.AUDIT_DAYS })

/** The check that retention AUDIT_ONLY has the key that it needs. */
export const retentionCheck = {
  variables: ['RETENTION', 'INTEGRITY_KEY'],
  problems: ({ RETENTION, INTEGRITY_KEY }: { RETENTION: string; INTEGRITY_KEY?: string | undefined }) =>
    RETENTION === 'AUDIT_ONLY' && !INTEGRITY_KEY ? [['RETENTION', 'requires INTEGRITY_KEY'] as [string, string]] : [],
}
