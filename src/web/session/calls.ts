// Records the queries and mutations that the page sends, so that it can show each as code.

import { createStore, type Store } from '../kit/store.ts'

type Sent = { query: string; variables: Record<string, unknown>; actor: string | null }

/**
 * Equal requests to the GraphQL endpoint. `at`: when the newest of them was sent. `actor`: value of `x-actor`; null
 * with a token.
 */
export type Call = Sent & { id: number; at: Date; count: number }

/** Maximum number of calls that are kept, and maximum length of one that is kept, in UTF-16 units. */
const [MAX_CALLS, MAX_LENGTH] = [50, 100_000]

/** The calls, the newest last. `fetch` sends requests as the browser's does, and records them. */
export type Calls = Pick<Store<readonly Call[]>, 'get' | 'subscribe'> & { fetch: typeof fetch }

/** Returns what a GraphQL request sends; null for any other request. */
function sentBy(init: RequestInit | undefined): Sent | null {
  if (typeof init?.body !== 'string' || init.body.length > MAX_LENGTH) return null
  const { query, variables = {} } = JSON.parse(init.body)
  if (typeof query !== 'string') return null
  const name = new Headers(init.headers).get('x-actor')
  return { query, variables, actor: name === null ? null : decodeURIComponent(name) }
}

const areEqual = (a: Sent, b: Sent): boolean =>
  a.query === b.query && a.actor === b.actor && JSON.stringify(a.variables) === JSON.stringify(b.variables)

export function createCalls(): Calls {
  const calls = createStore<readonly Call[]>([])
  let newestId = 0
  /** Records a call. It replaces an equal one, so that a query that is repeated does not displace the others. */
  function add(sent: Sent): void {
    const known = calls.get().find((call) => areEqual(call, sent))
    const others = calls.get().filter((call) => call !== known)
    const call = { ...sent, id: known?.id ?? ++newestId, at: new Date(), count: (known?.count ?? 0) + 1 }
    calls.set([...others, call].slice(-MAX_CALLS))
  }
  return {
    get: calls.get,
    subscribe: calls.subscribe,
    fetch(input, init) {
      const sent = sentBy(init)
      if (sent) add(sent)
      return fetch(input, init)
    },
  }
}
