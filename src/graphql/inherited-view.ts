// Records the viewer for whom an object was read, so that its fields are read for the same viewer. Only objects read for a
// viewer other than the request's are recorded, so reads without `as` cost nothing extra.

import { actAs, type Viewer } from '../domain/view.ts'
import type { RequestContext } from './request.ts'

type Requested = Pick<RequestContext, 'viewer'>

const viewers = new WeakMap<object, Viewer>()

const isOf = ({ viewer }: Requested, other: Viewer) => actAs(viewer, other.actor) === viewer

/** The viewer for whom the object's fields are read. */
export const viewerOf = ({ viewer }: Requested, object: object): Viewer => viewers.get(object) ?? viewer

/**
 * Returns the value, with its objects recorded as read for that viewer. `objectsOf` lists the objects whose fields load
 * more data; they must belong to this operation alone.
 */
export function readFor<Value>(
  context: Requested,
  viewer: Viewer,
  value: Value,
  objectsOf: (value: Value) => readonly object[],
): Value {
  if (!isOf(context, viewer)) for (const object of objectsOf(value)) viewers.set(object, viewer)
  return value
}

/** The same for an object that several operations share, such as an event: it is copied if a viewer has to be recorded. */
export function lentTo<T extends object>(context: Requested, viewer: Viewer, object: T): T {
  return isOf(context, viewer) ? object : readFor(context, viewer, { ...object }, (copy) => [copy])
}
