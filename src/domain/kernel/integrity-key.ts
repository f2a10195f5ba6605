// Derives the keys of the audit log, of erasure receipts and of content hashes from the operator's INTEGRITY_KEY.

import { createHmac, hkdfSync } from 'node:crypto'

/** One key per purpose, so that a hash that was made for one purpose cannot be used for another. */
export type IntegrityKeys = Readonly<Record<'audit' | 'receipt' | 'content', Buffer>>

const derive = (secret: string, purpose: string) =>
  Buffer.from(hkdfSync('sha256', secret, '', `colloquy ${purpose}`, 32))

/** Returns the keys, which are derived by HKDF-SHA-256; null without a secret. */
export const integrityKeysOf = (secret: string | undefined): IntegrityKeys | null =>
  secret === undefined
    ? null
    : { audit: derive(secret, 'audit'), receipt: derive(secret, 'receipt'), content: derive(secret, 'content') }

/** Returns the HMAC-SHA-256 of the text, in hexadecimal. */
export const keyedHash = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex')
