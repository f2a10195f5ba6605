// Records the viewer for whom an object was read, so that its fields are read for the same viewer. Objects read for the
// viewer of the request are not recorded, so reads without `as` have no extra cost.

import { actAs, type Viewer } from '../domain/view.ts'
import type { RequestContext } from './request.ts'

type Requested = Pick<RequestContext, 'viewer'>

const viewers = new WeakMap<object, Viewer>()

const isRequestViewer = ({ viewer }: Requested, other: Viewer) => actAs(viewer, other.actor) === viewer

/** Returns the viewer for whom the object's fields must be read. */
export const viewerOf = ({ viewer }: Requested, object: object): Viewer => viewers.get(object) ?? viewer

/**
 * Returns the value, with its objects recorded as read for the viewer. `objectsOf` lists the objects whose fields load
 * more data; no other operation may use them.
 */
export function readFor<Value>(
  context: Requested,
  viewer: Viewer,
  value: Value,
  objectsOf: (value: Value) => readonly object[],
): Value {
  if (!isRequestViewer(context, viewer)) for (const object of objectsOf(value)) viewers.set(object, viewer)
  return value
}

/**
 * Like `readFor`, for an object that several operations share, such as an event: copies it if a viewer must be
 * recorded.
 */
export function readSharedFor<T extends object>(context: Requested, viewer: Viewer, object: T): T {
  return isRequestViewer(context, viewer) ? object : readFor(context, viewer, { ...object }, (copy) => [copy])
}
