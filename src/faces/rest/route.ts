// Finds the verb of a request to the REST API by its method and path. Pure.

import { nearest } from '../../text/nearest.ts'
import { verbEntries, type Method, type VerbName } from '../verbs.ts'
import { API } from '../paths.ts'

type Route = { verb: VerbName; method: Method; segments: readonly string[] }

/** The routes of all verbs. A segment in braces is a parameter. */
export const ROUTES: readonly Route[] = verbEntries().map(([verb, { route }]) => {
  const [method, path] = route.split(' ') as [Method, string]
  return { verb, method, segments: path.slice(1).split('/') }
})

/** The verb of a request, and the values of the parameters in its path. */
export type Match = { verb: VerbName; parameters: Readonly<Record<string, string>> }

export type NoMatch =
  /** No route has the path. `similar` is a path that the client may have meant, or null. */
  | { problem: 'path'; similar: string | null }
  /** Routes with the path accept other methods. */
  | { problem: 'method'; allowed: readonly Method[] }
  /** A segment is not percent-encoded UTF-8. */
  | { problem: 'encoding'; segment: string }

const isParameter = (segment: string) => segment.startsWith('{')

const fits = ({ segments }: Route, given: readonly string[]) =>
  segments.length === given.length
  && segments.every((segment, index) => (isParameter(segment) ? given[index] !== '' : segment === given[index]))

/** Returns the path of the most similar route, with the parameters of the given path. */
function similarTo(segmentsGiven: readonly string[]): string | null {
  const given = segmentsGiven.filter((segment) => segment !== '')
  const paths = ROUTES.filter(({ segments }) => segments.length === given.length).map(({ segments }) =>
    segments.map((segment, index) => (isParameter(segment) ? given[index] : segment)).join('/'),
  )
  const similar = nearest(given.join('/'), paths)
  return similar === null ? null : `${API}/${similar}`
}

/** @param path begins with API; without the query */
export function matchRoute(method: string | undefined, path: string): Match | NoMatch {
  const given = path.slice(API.length + 1).split('/')
  const candidates = ROUTES.filter((route) => fits(route, given))
  if (candidates.length === 0) return { problem: 'path', similar: similarTo(given) }
  const route = candidates.find((each) => each.method === method)
  if (!route) return { problem: 'method', allowed: [...new Set(candidates.map((each) => each.method))] }
  const parameters: Record<string, string> = {}
  for (const [index, segment] of route.segments.entries()) {
    if (!isParameter(segment)) continue
    try {
      parameters[segment.slice(1, -1)] = decodeURIComponent(given[index]!)
    } catch {
      return { problem: 'encoding', segment: given[index]! }
    }
  }
  return { verb: route.verb, parameters }
}
