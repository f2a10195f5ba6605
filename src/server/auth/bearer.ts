// Finds the token of a client: in the header Authorization, or over a WebSocket also in connectionParams or in the
// payload of a ping. A token in a URL is never accepted, because URLs are logged.

import type { IncomingHttpHeaders } from 'node:http'

/** The names under which connectionParams and the payload of a ping contain a token. */
const NAMES = ['authorization', 'token'] as const

const fromHeader = (value: string) => /^Bearer +(\S+) *$/i.exec(value)?.[1] ?? ''

/** Returns the token; null without the header; empty if the header contains other credentials. */
export const tokenOfHeaders = ({ authorization }: IncomingHttpHeaders): string | null =>
  authorization === undefined ? null : fromHeader(authorization)

/**
 * Returns the token in connectionParams or in the payload of a ping, as `token`, or as `authorization` with or without
 * "Bearer". Null if there is none; empty if it is not a string, or contains other credentials.
 * @param given the parameters, with lower-case names
 */
export function tokenOfParameters(given: ReadonlyMap<string, unknown>): string | null {
  const name = NAMES.find((each) => given.get(each) != null)
  if (name === undefined) return null
  const value = given.get(name)
  if (typeof value !== 'string') return ''
  return name === 'token' || !/^bearer /i.test(value) ? value : fromHeader(value)
}
