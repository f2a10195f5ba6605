// The context value of an operation. Each request has its own, and so has each event of a subscription.

import type DataLoader from 'dataloader'
import type { Deps } from '../domain/deps.ts'
import type { PresenceHolder } from '../domain/presence.ts'
import type { Viewer } from '../domain/view.ts'

/** Batch loaders by name, viewer and arguments (loaders.ts). */
type Loaders = Map<string, DataLoader<never, unknown, string>>

export type RequestContext = {
  deps: Deps
  /** The viewer from the transport. Below a field with `as`, inherited-view.ts replaces it. */
  viewer: Viewer
  /** Ends the presence that was set over this socket when the socket closes; null over HTTP. */
  holder: PresenceHolder | null
  loaders: Loaders
}

/** Cheap: loaders are created on first use. */
export function createRequestContext(deps: Deps, viewer: Viewer, holder: PresenceHolder | null): RequestContext {
  return { deps, viewer, holder, loaders: new Map() }
}
