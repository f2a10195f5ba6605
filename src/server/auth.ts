// Determines the viewer of a request from two headers (over a WebSocket, from connectionParams of the same names).
// There is no authentication: any client may act as any actor of any tenant. guard.ts only rejects web pages of other
// origins.

import { InvalidInput } from '../errors.ts'
import { name, parse } from '../domain/input.ts'
import type { Viewer } from '../domain/view.ts'

const TENANT = 'x-tenant'
const ACTOR = 'x-actor'

/**
 * Returns the viewer. The tenant defaults to 'default', the actor to 'anonymous'.
 * @param get returns a header or connection parameter by its lower-case name; null or undefined if it is absent
 * @throws InvalidInput for an invalid tenant or actor name
 */
export function viewerFrom(get: (header: string) => unknown): Viewer {
  const read = (header: string, fallback: string) => {
    const value = get(header)
    if (value == null || value === '') return fallback
    try {
      return parse(name, value)
    } catch (error) {
      throw error instanceof InvalidInput ? InvalidInput.at(header, error.message) : error
    }
  }
  return { tenant: read(TENANT, 'default'), actor: read(ACTOR, 'anonymous') }
}
