// What an operation is executed with. One for each request, and for each event of a subscription.

import type { Deps } from '../domain/platform.ts'
import type { PresenceHolder } from '../domain/presence.ts'
import type { Viewer } from '../domain/view.ts'
import type { Loaders } from './loaders.ts'

export type RequestContext = {
  deps: Deps
  /** Who asks, as the transport says. Below an `as`, objects carry another. */
  viewer: Viewer
  /** The socket whose end ends the presence set over it; null over plain HTTP. */
  holder: PresenceHolder | null
  loaders: Loaders
}

/** Costs next to nothing: loaders are made when they are first used. */
export function createRequestContext(deps: Deps, viewer: Viewer, holder: PresenceHolder | null): RequestContext {
  return { deps, viewer, holder, loaders: new Map() }
}
