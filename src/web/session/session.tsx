// The session of the person at the page: who they are, the client that reads and writes as them, and clients that read
// in the views of other actors.

import { createContext, useContext, type ReactNode } from 'react'
import { ColloquyError, connect, type Client, type ConnectionState, type ConnectOptions } from '../../client/index.ts'
import { ColloquyProvider } from '../../react/index.ts'
import { createStore, type Store } from '../kit/store.ts'
import { createCalls, type Calls } from './calls.ts'
import { CuttableWebSocket } from './sockets.ts'

/** Path of the GraphQL endpoint, on the server that sent the page. */
export const ENDPOINT = '/graphql'

/** Who the person is: a name on a server that does not authenticate clients, or else the holder of a token. */
export type Credential = { name: string } | { token: string }

/** The viewer, as the server knows it. */
type Viewer = { actor: string; tenant: string; rights: readonly string[]; expiresAt: string | null }

/** The connection of the session's client. `reason`: why it is lost; null while it is not. */
export type Connection = { state: ConnectionState; reason: ColloquyError | null }

export type Session = {
  viewer: Viewer
  client: Client
  /** Whether the server authenticates its clients. */
  isAuthenticated: boolean
  /** Returns the client that reads in the view of the actor. With a token, this needs the right `act-as`. */
  clientOf(actor: string): Client
  /** Whether the server lets the person read in the views of others. */
  mayViewAs: boolean
  /** The queries and mutations of the page. */
  calls: Calls
  connection: Pick<Store<Connection>, 'get' | 'subscribe'>
  close(): void
}

const READ_VIEWER = '{ viewer { actor tenant rights expiresAt } }'

/** Whether the server accepts requests without a token. @throws ColloquyError if it cannot be reached */
export async function needsToken(): Promise<boolean> {
  const client = connect({ url: ENDPOINT })
  try {
    await client.request('{ viewer { actor } }')
    return false
  } catch (error) {
    if (error instanceof ColloquyError && error.code === 'UNAUTHENTICATED') return true
    throw error
  } finally {
    await client.close()
  }
}

/** Opens a session. @throws ColloquyError if the server refuses the credential, or cannot be reached */
export async function openSession(credential: Credential): Promise<Session> {
  const calls = createCalls()
  const connection = createStore<Connection>({ state: 'connecting', reason: null })
  const isAuthenticated = 'token' in credential
  // Every failure is shown where its value would be.
  const base = { url: ENDPOINT, webSocket: CuttableWebSocket, fetch: calls.fetch, onError: () => {} }
  const named = (actor?: string, options: Partial<ConnectOptions> = {}) =>
    connect({
      ...base,
      ...options,
      ...(isAuthenticated ? { token: credential.token, actor } : { actor: actor ?? credential.name }),
    })
  const client = named(undefined, {
    onConnection: (state, reason) => connection.set({ state, reason: reason ?? null }),
  })
  const others = new Map<string, Client>()
  try {
    const { viewer } = await client.request<{ viewer: Viewer }>(READ_VIEWER)
    return {
      viewer,
      client,
      isAuthenticated,
      mayViewAs: viewer.rights.includes('ACT_AS'),
      clientOf(actor) {
        if (actor === viewer.actor) return client
        const known = others.get(actor) ?? named(actor)
        others.set(actor, known)
        return known
      },
      calls,
      connection,
      close: () => [client, ...others.values()].forEach((each) => void each.close()),
    }
  } catch (error) {
    await client.close()
    throw error
  }
}

const SessionContext = createContext<Session | null>(null)

/** Provides the session, and its client to the hooks of `colloquy/react`. */
export const SessionProvider = ({ session, children }: { session: Session; children: ReactNode }) => (
  <SessionContext value={session}>
    <ColloquyProvider client={session.client}>{children}</ColloquyProvider>
  </SessionContext>
)

/** Returns the session. @throws Error outside of a SessionProvider */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('Render a SessionProvider around the components that use the session.')
  return session
}
