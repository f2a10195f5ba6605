// Converts names to author names that OpenAI accepts.

import { createHash } from 'node:crypto'

/** Converts a name to at most 64 accepted characters; a name without ASCII letters and digits becomes a digest. */
export function openAiName(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, 64)
  return /[a-zA-Z0-9]/.test(plain) ? plain : `speaker_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}
