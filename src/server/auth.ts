// Who is asking. Nobody authenticates yet: everybody of a tenant may speak and read as anybody, and says who by two
// headers (over a WebSocket, the same names in connectionParams). What keeps web pages out is guard.ts.

import { InvalidInput } from '../errors.ts'
import { name, parse } from '../domain/input.ts'
import type { Viewer } from '../domain/view.ts'

const TENANT = 'x-tenant'
const ACTOR = 'x-actor'

/**
 * @param get a header or connection parameter by its lower-case name; null or undefined where it is absent
 * @throws InvalidInput for a name that is none
 */
export function viewerFrom(get: (header: string) => unknown): Viewer {
  const read = (header: string, otherwise: string) => {
    const value = get(header)
    if (value == null || value === '') return otherwise
    try {
      return parse(name, value)
    } catch (error) {
      throw error instanceof InvalidInput ? InvalidInput.at(header, error.message) : error
    }
  }
  return { tenant: read(TENANT, 'default'), actor: read(ACTOR, 'anonymous') }
}
