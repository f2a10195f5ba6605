// Redacts personal data and secrets in a statement before it is stored as a fact.

import { redact, type CustomDetector } from '../../text/redact.ts'
import type { Statement } from './content-hash.ts'

/** Redacts subject, predicate and object. `custom`: the application's detectors; the built-in ones always apply. */
export const redactStatement = <S extends Statement>(statement: S, custom: readonly CustomDetector[]): S => ({
  ...statement,
  subject: redact(statement.subject, custom).text,
  predicate: redact(statement.predicate, custom).text,
  object: redact(statement.object, custom).text,
})
