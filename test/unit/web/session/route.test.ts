// The route of the page, in the fragment of its URL.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { fragmentOf, navigate, parseRoute, type PanelName } from '../../../../src/web/session/route.ts'

describe('a route', () => {
  it.each([
    ['', { conversationId: null, panel: null, position: null }],
    ['#/', { conversationId: null, panel: null, position: null }],
    ['#/c/conv_1', { conversationId: 'conv_1', panel: null, position: null }],
    ['#/c/conv_1?panel=memory&turn=12', { conversationId: 'conv_1', panel: 'memory', position: 12 }],
    ['#/c/a%2Fb?panel=unknown&turn=-3', { conversationId: 'a/b', panel: null, position: null }],
    ['#/elsewhere/x', { conversationId: null, panel: null, position: null }],
    ['#/c/%E0%A4%A', { conversationId: null, panel: null, position: null }],
  ])('%s is read', (fragment, expected) => {
    expect(parseRoute(fragment)).toEqual(expected)
  })

  it('is written so that it can be read again', () => {
    const route = { conversationId: 'a/b ?#', panel: 'context' as const, position: 7 }
    expect(parseRoute(fragmentOf(route))).toEqual(route)
    expect(fragmentOf({ conversationId: null, panel: null, position: null })).toBe('#/')
  })
})

describe('navigate', () => {
  const dispatched = vi.fn()
  afterEach(() => {
    vi.unstubAllGlobals()
    dispatched.mockClear()
  })

  /** Returns the fragment after the changes of `#/c/a?panel=memory`. */
  function after(changes: Parameters<typeof navigate>[0], isNarrow: boolean): string {
    const location = { hash: '#/c/a?panel=memory' }
    vi.stubGlobal('location', location)
    vi.stubGlobal('history', {
      replaceState: (_state: unknown, _title: string, hash: string) => (location.hash = hash),
    })
    vi.stubGlobal('HashChangeEvent', class {})
    vi.stubGlobal('dispatchEvent', dispatched)
    vi.stubGlobal('matchMedia', () => ({ matches: isNarrow }))
    navigate(changes)
    return location.hash
  }

  it.each([
    [{ position: 3 }, '#/c/a?panel=memory&turn=3', '#/c/a?turn=3'],
    [{ position: 0 }, '#/c/a?panel=memory&turn=0', '#/c/a?turn=0'],
    [{ position: null }, '#/c/a?panel=memory', '#/c/a?panel=memory'],
    [{ conversationId: 'b', position: null }, '#/c/b?panel=memory', '#/c/b'],
    [{ conversationId: 'a', position: null }, '#/c/a?panel=memory', '#/c/a?panel=memory'],
    [{ conversationId: 'b', panel: 'participants' as PanelName }, '#/c/b?panel=participants', '#/c/b'],
    [{ panel: 'journal' as PanelName }, '#/c/a?panel=journal', '#/c/a?panel=journal'],
    [{ panel: null }, '#/c/a', '#/c/a'],
  ])('to %j keeps the panel beside the conversation, but does not cover it', (changes, wide, narrow) => {
    expect(after(changes, false)).toBe(wide)
    expect(after(changes, true)).toBe(narrow)
  })

  it.each([
    ['shows the newest turn again', { position: null }, 1],
    ['does nothing without a change', { panel: 'memory' as PanelName }, 0],
  ])('%s', (_, changes, expected) => {
    after(changes, false)
    expect(dispatched).toHaveBeenCalledTimes(expected)
  })
})
