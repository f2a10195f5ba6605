// The viewer whose view an object was read in, carried from a field to the fields below it. Only objects read for another
// viewer than the request's are noted, so a page read without `as` costs nothing more.

import { actAs, type Viewer } from '../domain/view.ts'
import type { RequestContext } from './request.ts'

type Requested = Pick<RequestContext, 'viewer'>

const noted = new WeakMap<object, Viewer>()

const isOf = ({ viewer }: Requested, other: Viewer) => actAs(viewer, other.actor) === viewer

/** The viewer that the fields of that object are read for. */
export const viewerOf = ({ viewer }: Requested, object: object): Viewer => noted.get(object) ?? viewer

/**
 * The value, its objects noted as read for that viewer. `objectsOf` names the objects whose fields read on; they must
 * belong to this operation alone.
 */
export function readFor<Value>(
  context: Requested,
  viewer: Viewer,
  value: Value,
  objectsOf: (value: Value) => readonly object[],
): Value {
  if (!isOf(context, viewer)) for (const object of objectsOf(value)) noted.set(object, viewer)
  return value
}

/** The object as read for that viewer. An object that other operations hold too, such as an event's, is copied if need be. */
export function lentTo<T extends object>(context: Requested, viewer: Viewer, object: T): T {
  return isOf(context, viewer) ? object : readFor(context, viewer, { ...object }, (copy) => [copy])
}
