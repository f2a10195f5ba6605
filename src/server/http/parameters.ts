// Reads what a request asks for: the path in its target, and the parameters of an operation in the URL of a GET request
// or in a JSON body.

import type { Parameters } from '../live/operation.ts'

export type Target = {
  /** The path without the query; '*' for a request about the whole server. */
  path: string
  /** The path with the query. */
  url: string
  /** The host of an absolute target, which replaces the Host header; null for other targets. */
  host: string | null
}

/** Returns the query parameters of a URL that starts with its path. */
export const searchOf = (url = ''): URLSearchParams => new URLSearchParams(url.split('?').slice(1).join('?'))

/**
 * Parses the target (RFC 9112 §3.2) into the path by which the server routes the request. Accepts the origin form, the
 * absolute form and `*`, but not the authority form. Returns null if it is invalid.
 */
export function targetOf(url: string | undefined): Target | null {
  if (url === '*') return { path: '*', url, host: null }
  if (url?.startsWith('/')) return { path: url.split('?', 1)[0]!, url, host: null }
  if (!url || !/^https?:\/\//i.test(url) || !URL.canParse(url)) return null
  const { host, pathname, search } = new URL(url)
  return { path: pathname, url: pathname + search, host }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Checks the types of the parameters. Returns them, or an error text. */
function check({ query, operationName, variables, extensions }: Record<string, unknown>): Parameters | string {
  if (typeof query !== 'string') return 'Must provide query string: the parameter "query" is the document.'
  if (operationName != null && typeof operationName !== 'string') return '"operationName" must be a string.'
  if (variables != null && !isObject(variables)) return '"variables" must be an object.'
  if (extensions != null && !isObject(extensions)) return '"extensions" must be an object.'
  return { query, operationName, variables, extensions }
}

/** Returns the parameters in a JSON body, or an error text. */
export function parametersInBody(body: Buffer): Parameters | string {
  let params: unknown
  try {
    params = JSON.parse(body.toString())
  } catch {
    return 'The body is invalid JSON.'
  }
  return isObject(params) ? check(params) : 'The body must be a JSON object.'
}

/** Returns the parameters in the query of a URL, or an error text. */
export function parametersInUrl(search: URLSearchParams): Parameters | string {
  const jsonOf = (name: string): unknown => {
    const text = search.get(name)
    return text === null || text === '' ? null : JSON.parse(text)
  }
  try {
    return check({
      query: search.get('query'),
      operationName: search.get('operationName') || null,
      variables: jsonOf('variables'),
      extensions: jsonOf('extensions'),
    })
  } catch {
    return 'The parameters "variables" and "extensions" must be JSON.'
  }
}
