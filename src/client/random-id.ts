// Random ids and secrets: idempotency keys, writer tokens.

/** Returns 128 random bits, in hexadecimal. `crypto.randomUUID` exists only on pages that are served over https. */
export const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
