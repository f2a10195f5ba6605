// Reads the names x-tenant and x-actor of a request. Over HTTP, they are headers, or parameters in the URL of an event
// stream; over a WebSocket, connectionParams, or headers of the upgrade. Without authentication, they determine the
// viewer; with authentication, they must be equal to the names of the credential (authenticator.ts).
//
// A name is percent-encoded UTF-8 on every transport, so the same text means the same name everywhere. Characters other
// than ASCII are accepted only in connectionParams, because in a header they would arrive as Latin-1 or not at all. In
// a URL, the names are encoded once, like every other parameter.

import type { IncomingHttpHeaders } from 'node:http'
import { InvalidInput } from '../../errors.ts'
import { name, parse } from '../../domain/kernel/input.ts'

export const TENANT = 'x-tenant'
export const ACTOR = 'x-actor'

/** The names that a client sent; null for a name that it did not send. */
export type Names = { tenant: string | null; actor: string | null }

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

/** Reads both names with `read`, and checks them. @throws InvalidInput with the header's name as the path */
function namesOf(read: (header: string) => string | null): Names {
  const nameOf = (header: string) => {
    try {
      const given = read(header)
      return given === null ? null : parse(name, given)
    } catch (error) {
      throw error instanceof InvalidInput ? InvalidInput.at(header, error.message) : error
    }
  }
  return { tenant: nameOf(TENANT), actor: nameOf(ACTOR) }
}

const headerOf = (headers: IncomingHttpHeaders, header: string) => {
  const value = headers[header]
  return value ? fromHeader(String(value)) : null
}

/**
 * Returns the names of an HTTP request. A header overrides the parameter, because a proxy that authenticates clients
 * sets headers.
 * @param parameters the parameters of the URL; null to ignore them
 * @throws InvalidInput for an invalid name
 */
export const namesOfRequest = (headers: IncomingHttpHeaders, parameters: URLSearchParams | null = null): Names =>
  namesOf((header) => headerOf(headers, header) ?? (parameters?.get(header) || null))

/** Returns the parameters with lower-case names: names are case-insensitive, like those of headers. */
export const lowerCaseKeys = (parameters: Record<string, unknown>): ReadonlyMap<string, unknown> =>
  new Map(Object.entries(parameters).map(([key, value]) => [key.toLowerCase(), value]))

/**
 * Returns the names of a WebSocket. Each name in connectionParams overrides the header of the upgrade.
 * @param given connectionParams, with lower-case names
 * @throws InvalidInput for an invalid name
 */
export const namesOfConnection = (given: ReadonlyMap<string, unknown>, headers: IncomingHttpHeaders): Names =>
  namesOf((header) => {
    const value = given.get(header)
    return value == null || value === '' ? headerOf(headers, header) : fromParameter(value)
  })
