// Sessions of MCP clients: which resources each client wants to be notified of. A session is stored in the database, so
// that any process can serve its requests, and that it survives a restart. It belongs to one actor of one tenant.

import { randomUUID } from 'node:crypto'
import type { Bus } from '../../../bus/bus.ts'
import { LimitReached } from '../../../errors.ts'
import type { Db } from '../../../store/db/db.ts'
import {
  deleteExpired,
  deleteSession,
  insertSession,
  moveSubscriptions,
  putSubscriptions,
  readSession,
  removeSubscription,
  renewSession,
  type SessionKey,
  type Subscriptions,
} from '../../../store/sql/kernel/mcp-sessions.ts'
import type { Viewer } from '../view.ts'

export type { SessionKey, Subscriptions }

/** Time without a request after which a session ends, seconds. @internal */
export const SESSION_SECONDS = 7 * 24 * 60 * 60
/**
 * Maximum number of sessions of one actor. A further session ends the one that was unused for the longest time.
 * @internal
 */
export const MAX_SESSIONS = 100
/** Maximum number of resources to which one session subscribes. @internal */
export const MAX_SUBSCRIPTIONS = 100
/** Maximum number of expired sessions that one statement deletes. */
const BATCH = 1_000

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type SessionDeps = { db: Db; bus: Bus }

const topicOf = ({ id }: SessionKey) => `mcp-session:${id}`

/** Creates a session of the viewer. */
export async function createSession({ db }: SessionDeps, { tenant, actor }: Viewer): Promise<SessionKey> {
  const session = { id: randomUUID(), tenant, actor }
  await insertSession(db, session, { seconds: SESSION_SECONDS, keep: MAX_SESSIONS - 1 })
  return session
}

/**
 * Returns the viewer's session with that id, with its subscriptions, and postpones its expiry; null if there is none.
 */
export async function useSession(
  { db }: SessionDeps,
  { tenant, actor }: Viewer,
  id: string,
): Promise<(SessionKey & { subscriptions: Subscriptions }) | null> {
  if (!UUID.test(id)) return null
  const session = { id, tenant, actor }
  const found = await readSession(db, session)
  if (!found) return null
  // Half of the time is precise enough, and saves a write for most requests.
  if (found.seconds < SESSION_SECONDS / 2) await renewSession(db, session, SESSION_SECONDS)
  return { ...session, subscriptions: found.subscriptions }
}

/**
 * Subscribes the session to a resource: the client has seen its state at the journal number `seq`.
 * @throws LimitReached
 */
export async function subscribe(
  { db, bus }: SessionDeps,
  session: SessionKey,
  uri: string,
  seq: number,
): Promise<void> {
  if (!(await putSubscriptions(db, session, { [uri]: seq }, MAX_SUBSCRIPTIONS))) {
    throw new LimitReached(`A session subscribes to at most ${MAX_SUBSCRIPTIONS} resources.`, MAX_SUBSCRIPTIONS)
  }
  bus.publish(topicOf(session), '')
}

/** Ends the subscription of the session to a resource; has no effect without one. */
export async function unsubscribe({ db, bus }: SessionDeps, session: SessionKey, uri: string): Promise<void> {
  await removeSubscription(db, session, uri)
  bus.publish(topicOf(session), '')
}

/** Stores that the client has been notified of the changes up to these journal numbers. */
export const noteNotified = ({ db }: SessionDeps, session: SessionKey, subscriptions: Subscriptions): Promise<void> =>
  moveSubscriptions(db, session, subscriptions)

/** Ends a session, and the notifications of its client. */
export async function endSession({ db, bus }: SessionDeps, session: SessionKey): Promise<void> {
  await deleteSession(db, session)
  bus.publish(topicOf(session), '')
}

/**
 * Calls `onChange` when the subscriptions of the session may have changed, or it may have ended. Messages between
 * processes may be lost. Resolves with a function that ends the watch.
 */
export const watchSession = (
  { bus }: SessionDeps,
  session: SessionKey,
  onChange: () => void,
): Promise<() => Promise<void>> => bus.subscribe(topicOf(session), onChange)

/** Deletes expired sessions, and returns their number. Any number of processes may run it. */
export const deleteExpiredSessions = ({ db }: { db: Db }): Promise<number> => deleteExpired(db, BATCH)
