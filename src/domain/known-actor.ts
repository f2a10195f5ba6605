// Decides whether a principal may act as another actor: the tenant must know the actor, so that a misspelt name does
// not silently read the view of an actor who does not exist. The principal itself needs no check.

import { LRUCache } from 'lru-cache'
import type { Pool } from '../store/tenant-pool.ts'
import { UnknownActor } from '../errors.ts'
import { isKnownActor } from '../store/sql/participant/is-known-actor.ts'
import type { Viewer } from './view.ts'

/** Maximum number of remembered actors; at 200 characters each of tenant and actor, at most 8 MB. */
const MAX_ACTORS = 10_000
/** Time for which a known actor is remembered, ms. Only a deletion makes an actor unknown again. */
const REMEMBER_MS = 60_000

/** Actors that were known recently, so that most operations with `as` need no read. */
export type KnownActors = LRUCache<string, true>

export const createKnownActors = (): KnownActors => new LRUCache({ max: MAX_ACTORS, ttl: REMEMBER_MS })

type Deps = { pool: Pool; knownActors: KnownActors }

const keyOf = ({ tenant, actor }: Viewer) => `${tenant}\0${actor}`

/** Whether `requireKnownActor` succeeded for the actor within the last minute. */
export const isRemembered = ({ knownActors }: Pick<Deps, 'knownActors'>, viewer: Viewer): boolean =>
  knownActors.has(keyOf(viewer))

/** @throws UnknownActor unless the actor owns a conversation of the tenant, or is or was a participant of one */
export async function requireKnownActor({ pool, knownActors }: Deps, viewer: Viewer): Promise<void> {
  if (!(await isKnownActor(pool, viewer))) throw new UnknownActor(viewer.actor)
  knownActors.set(keyOf(viewer), true)
}
