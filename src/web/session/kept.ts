// State of a component that is kept while the component is not shown. It belongs to the session, so that the next
// person at the same page does not see it.

import { useState } from 'react'
import { useSession, type Session } from './session.tsx'

/** Maximum number of states that a session keeps. The ones that were changed least recently are dropped. */
const MAX_KEPT = 50

const keptOf = new WeakMap<Session, Map<string, unknown>>()

/**
 * Returns the state, and a function that changes parts of it.
 * @param key distinct for each use and each conversation
 */
export function useKept<State extends object>(key: string, initial: State): [State, (changes: Partial<State>) => void] {
  const session = useSession()
  const kept = keptOf.get(session) ?? new Map<string, unknown>()
  keptOf.set(session, kept)
  const [state, setState] = useState<State>((kept.get(key) as State | undefined) ?? initial)
  function change(changes: Partial<State>): void {
    const next = { ...((kept.get(key) as State | undefined) ?? state), ...changes }
    kept.delete(key)
    kept.set(key, next)
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!)
    setState(next)
  }
  return [state, change]
}
