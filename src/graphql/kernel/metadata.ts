// Descriptions that several inputs share for their metadata.

import { JSON_BYTES, JSON_DEPTH } from '../../domain/kernel/input.ts'

const LIMITS = `a JSON object of at most ${JSON_BYTES / 1024} KiB, nested at most ${JSON_DEPTH} levels deep.`

export const METADATA = `Application-defined metadata: ${LIMITS}`
export const REPLACED_METADATA = `Replaces the metadata as a whole: ${LIMITS}`
export const METADATA_PATCH =
  'Changes to the metadata as a JSON Merge Patch (RFC 7396): null removes a key, an object is merged, any other value '
  + `replaces the old one. The result has at most ${JSON_BYTES / 1024} KiB. Exclusive with \`metadata\`. Defaults to `
  + 'null, for no change.'
