// Redacts personal data and secrets in statements before they are stored as facts.

import { redact, type CustomDetector } from '../../../text/redact/redact.ts'
import type { RedactionDeps } from '../../kernel/redaction.ts'
import type { Statement } from './content-hash.ts'

const redactStatement = <S extends Statement>(statement: S, custom: readonly CustomDetector[]): S => ({
  ...statement,
  subject: redact(statement.subject, custom).text,
  predicate: redact(statement.predicate, custom).text,
  object: redact(statement.object, custom).text,
})

export type StatementRedactor = <S extends Statement>(statement: S) => S

/**
 * Returns a function that redacts the tenant's statements. It changes nothing if the tenant's redaction mode is `off`.
 */
export async function statementRedactor(
  { redaction, detectors }: Pick<RedactionDeps, 'redaction' | 'detectors'>,
  tenant: string,
): Promise<StatementRedactor> {
  const mode = await redaction.of(tenant)
  return (statement) => (mode === 'off' ? statement : redactStatement(statement, detectors))
}
