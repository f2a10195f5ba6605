// Derives the keys of the audit log, of erasure receipts and of content hashes from the operator's INTEGRITY_KEY.

import { createHmac, hkdfSync } from 'node:crypto'

/** One key per purpose, so that a hash made for one purpose says nothing about the others. */
export type IntegrityKeys = Readonly<Record<'audit' | 'receipt' | 'content', Buffer>>

const derive = (secret: string, purpose: string) =>
  Buffer.from(hkdfSync('sha256', secret, '', `colloquy ${purpose}`, 32))

/** Returns the keys; null without a secret. */
export const integrityKeysOf = (secret: string | undefined): IntegrityKeys | null =>
  secret === undefined
    ? null
    : { audit: derive(secret, 'audit'), receipt: derive(secret, 'receipt'), content: derive(secret, 'content') }

/** Returns the HMAC-SHA-256 of the text, hexadecimal. */
export const keyedHash = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex')
