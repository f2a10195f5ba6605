// The route of the page, in the fragment of its URL: the open conversation, and the panel beside it.

import { useMemo, useSyncExternalStore } from 'react'

/** The panels beside a conversation, in the order of their tabs. */
export const PANELS = ['participants', 'view', 'context', 'memory', 'journal', 'operations'] as const
export type PanelName = (typeof PANELS)[number]

/**
 * `conversationId`: null for none. `panel`: null if it is closed. `position`: the turn to show; null for the newest.
 */
type Route = { conversationId: string | null; panel: PanelName | null; position: number | null }

/** Decodes a part of a URL; null if it is malformed. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/**
 * Reads the route of a fragment such as `#/c/ID?panel=memory&turn=12`.
 * @internal
 */
export function parseRoute(fragment: string): Route {
  const [path = '', search = ''] = fragment.replace(/^#\/?/, '').split('?')
  const [kind, id] = path.split('/')
  const parameters = new URLSearchParams(search)
  const panel = PANELS.find((name) => name === parameters.get('panel')) ?? null
  const position = /^\d{1,9}$/.test(parameters.get('turn') ?? '') ? Number(parameters.get('turn')) : null
  return { conversationId: kind === 'c' && id ? decoded(id) : null, panel, position }
}

/**
 * Returns the fragment of a route.
 * @internal
 */
export function fragmentOf({ conversationId, panel, position }: Route): string {
  const parameters = new URLSearchParams()
  if (panel) parameters.set('panel', panel)
  if (position !== null) parameters.set('turn', String(position))
  const search = parameters.size > 0 ? `?${parameters}` : ''
  return conversationId === null ? `#/${search}` : `#/c/${encodeURIComponent(conversationId)}${search}`
}

const subscribe = (listener: () => void) => {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}

/** Number of times that the page was asked to show a turn, or the newest one. */
let jumps = 0

/** Returns the current route. `jumps` changes when a turn must be shown, also one that was shown before. */
export function useRoute(): Route & { jumps: number } {
  const snapshot = useSyncExternalStore(subscribe, () => `${jumps}${location.hash}`)
  return useMemo(() => ({ ...parseRoute(location.hash), jumps }), [snapshot])
}

/** Whether the window is so narrow that a panel covers the conversation. The same limit is in styles/layout.css. */
const isNarrow = () => matchMedia('(max-width: 50rem)').matches

/**
 * Changes parts of the route. Opening another conversation adds an entry to the browser's history. In a narrow window,
 * showing a conversation or a turn closes the panel.
 * @param changes with `position`, the turn is shown, again if it was shown before; null for the newest one
 */
export function navigate(changes: Partial<Route>): void {
  const current = parseRoute(location.hash)
  const isOther = changes.conversationId !== undefined && changes.conversationId !== current.conversationId
  const isCovered = (isOther || typeof changes.position === 'number') && isNarrow()
  const next = fragmentOf({ ...current, ...changes, ...(isCovered && { panel: null }) })
  const isJump = changes.position !== undefined
  if (isJump) jumps += 1
  else if (next === location.hash) return
  if (isOther) location.hash = next
  else {
    history.replaceState(null, '', next)
    dispatchEvent(new HashChangeEvent('hashchange'))
  }
}
