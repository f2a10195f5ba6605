// Signed URLs of attachments: they give whoever has one access to the file until they expire. The signature covers the
// tenant, the attachment and the expiry.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../../runtime/clock.ts'

/** Path of the files in the REST API, without trailing slash. */
export const FILES_PATH = '/api/v1/files'

/** Maximum time for which a signed URL is valid, ms. */
export const LINK_MS = 15 * 60_000
/** Expiries are multiples of this, in ms, so that a URL stays the same for a while, and browsers cache the file. */
const STEP_MS = 5 * 60_000

/** A file that a signed URL gives access to. `expires` is in seconds since 1970. */
export type Link = { tenant: string; id: string; expires: number }

export type FileLinks = {
  /** Returns a URL of the attachment, which is valid for at least 10 minutes, and the time at which it expires. */
  sign(tenant: string, id: string): { url: string; expiresAt: Date }
  /** Returns the attachment of a signed URL's parameters; null if the signature is wrong or has expired. */
  verify(id: string, parameters: URLSearchParams): Link | null
}

/**
 * @param secret equal in all processes
 * @param base the URL with which the path of an attachment begins, or its path alone, without trailing slash
 */
export function createFileLinks(secret: string, base: string, { Date: time }: Pick<Clock, 'Date'>): FileLinks {
  const signatureOf = ({ tenant, id, expires }: Link) =>
    createHmac('sha256', secret)
      .update(JSON.stringify([tenant, id, expires]))
      .digest('base64url')
  return {
    sign(tenant, id) {
      const until = Math.floor((time.now() + LINK_MS) / STEP_MS) * STEP_MS
      const expires = until / 1000
      const query = new URLSearchParams({
        tenant,
        expires: String(expires),
        signature: signatureOf({ tenant, id, expires }),
      })
      return { url: `${base}/${id}?${query}`, expiresAt: new Date(until) }
    },
    verify(id, parameters) {
      const [tenant, expires, signature] = ['tenant', 'expires', 'signature'].map((name) => parameters.get(name) ?? '')
      if (!/^\d{1,12}$/.test(expires!)) return null
      const link = { tenant: tenant!, id, expires: Number(expires) }
      const [given, expected] = [Buffer.from(signature!), Buffer.from(signatureOf(link))]
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
      return link.expires * 1000 > time.now() ? link : null
    },
  }
}
