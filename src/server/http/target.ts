// Parses the target of an HTTP request (RFC 9112 §3.2) into the path by which the server routes the request. Accepts
// the origin form, the absolute form and `*`, but not the authority form.

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

/** Parses the target. Returns null if it is invalid. */
export function targetOf(url: string | undefined): Target | null {
  if (url === '*') return { path: '*', url, host: null }
  if (url?.startsWith('/')) return { path: url.split('?', 1)[0]!, url, host: null }
  if (!url || !/^https?:\/\//i.test(url) || !URL.canParse(url)) return null
  const { host, pathname, search } = new URL(url)
  return { path: pathname, url: pathname + search, host }
}
