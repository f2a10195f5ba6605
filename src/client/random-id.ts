// Random ids and secrets: idempotency keys, writer tokens and claim tokens.

/** Returns 128 random bits, in hexadecimal. Not by `crypto.randomUUID`, which is missing on pages without https. */
export const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
