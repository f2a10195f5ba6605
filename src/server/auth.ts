// Determines the viewer of a request from two names, x-tenant and x-actor: headers over HTTP, or else parameters of the
// URL of an event stream; over a WebSocket, connectionParams, or else headers of the upgrade. There is no authentication: any client may act as any actor of any
// tenant. guard.ts only rejects web pages of other origins.
//
// A name is percent-encoded UTF-8 on every transport, so the same text means the same name everywhere. Characters other
// than ASCII are accepted only in connectionParams, because in a header they would arrive as Latin-1 or not at all. In a
// URL, the names are encoded once, like every other parameter.

import type { IncomingHttpHeaders } from 'node:http'
import { InvalidInput } from '../errors.ts'
import { name, parse } from '../domain/input.ts'
import type { Viewer } from '../domain/view.ts'

export const TENANT = 'x-tenant'
export const ACTOR = 'x-actor'

const EXAMPLE = 'for example "Zo%C3%AB" for "Zoë"'

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw InvalidInput.at('', `is not valid percent-encoded UTF-8: percent-encode the name, "%" as "%25", ${EXAMPLE}`)
  }
}

/** Decodes a header. Rejects characters other than ASCII, because Node reads every header as Latin-1. */
function fromHeader(text: string): string {
  if (/[^\t\x20-\x7e]/.test(text)) {
    throw InvalidInput.at('', `has characters other than ASCII: percent-encode the name as UTF-8, ${EXAMPLE}`)
  }
  return decoded(text)
}

const fromParameter = (value: unknown): string => decoded(parse(name, value))

/** Returns the viewer from the two names that `read` returns. Defaults: tenant 'default', actor 'anonymous'. */
function viewerOf(read: (header: string) => string | null): Viewer {
  const nameOf = (header: string, fallback: string) => {
    try {
      const given = read(header)
      return given === null ? fallback : parse(name, given)
    } catch (error) {
      throw error instanceof InvalidInput ? InvalidInput.at(header, error.message) : error
    }
  }
  return { tenant: nameOf(TENANT, 'default'), actor: nameOf(ACTOR, 'anonymous') }
}

const headerOf = (headers: IncomingHttpHeaders, header: string) => {
  const value = headers[header]
  return value ? fromHeader(String(value)) : null
}

/**
 * Returns the viewer of an HTTP request. A header replaces the parameter, because a proxy that authenticates clients sets
 * headers.
 * @param parameters the parameters of the URL; null if they do not name the viewer
 * @throws InvalidInput for an invalid name
 */
export const viewerOfRequest = (headers: IncomingHttpHeaders, parameters: URLSearchParams | null = null): Viewer =>
  viewerOf((header) => headerOf(headers, header) ?? (parameters?.get(header) || null))

/**
 * Returns the viewer of a WebSocket. For each of the two names, connectionParams replace the header of the upgrade.
 * @param parameters connectionParams; their keys are case-insensitive, like the names of headers
 * @throws InvalidInput for an invalid name
 */
export function viewerOfConnection(parameters: Record<string, unknown>, headers: IncomingHttpHeaders): Viewer {
  const given = new Map(Object.entries(parameters).map(([key, value]) => [key.toLowerCase(), value]))
  return viewerOf((header) => {
    const value = given.get(header)
    return value == null || value === '' ? headerOf(headers, header) : fromParameter(value)
  })
}
