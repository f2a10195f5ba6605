// Checks that an actor is known in the tenant before a principal acts as it, so that a misspelt name fails instead of
// silently reading the view of an actor that does not exist. The principal's own actor needs no check.

import { LRUCache } from 'lru-cache'
import type { Pool } from '../../../store/db/tenant-pool.ts'
import { UnknownActor } from '../../../errors.ts'
import { isKnownActor } from '../../../store/sql/conversation/participant/is-known-actor.ts'
import type { Viewer } from '../view.ts'

/** Maximum number of remembered actors. They take at most 8 MB: each tenant and each actor has up to 200 characters. */
const MAX_ACTORS = 10_000
/** Time for which a known actor is remembered, ms. Only a deletion makes an actor unknown again. */
const REMEMBER_MS = 60_000

/** Remembers known actors, so that most operations with `as` need no read. */
export type KnownActors = LRUCache<string, true>

export const createKnownActors = (): KnownActors => new LRUCache({ max: MAX_ACTORS, ttl: REMEMBER_MS })

type Deps = { pool: Pool; knownActors: KnownActors }

const keyOf = ({ tenant, actor }: Viewer) => `${tenant}\0${actor}`

/** Whether `requireKnownActor` succeeded for the actor within the last REMEMBER_MS. */
export const isRemembered = ({ knownActors }: Pick<Deps, 'knownActors'>, viewer: Viewer): boolean =>
  knownActors.has(keyOf(viewer))

/**
 * Checks that the actor is known, and remembers it.
 * @throws UnknownActor unless the actor owns a conversation of the tenant, or is or was a participant of one
 */
export async function requireKnownActor({ pool, knownActors }: Deps, viewer: Viewer): Promise<void> {
  if (!(await isKnownActor(pool, viewer))) throw new UnknownActor(viewer.actor)
  knownActors.set(keyOf(viewer), true)
}
