// What an operation is executed with. One for each request, and for each event of a subscription.

import type DataLoader from 'dataloader'
import type { Deps } from '../domain/deps.ts'
import type { PresenceHolder } from '../domain/presence.ts'
import type { Viewer } from '../domain/view.ts'

/** Batch loaders by name, viewer and arguments (loaders.ts). */
type Loaders = Map<string, DataLoader<never, unknown, string>>

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
