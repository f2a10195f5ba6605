// The live shared state of the client on a server: it follows everybody's changes without reading again, and shows the
// program's own before the server has acknowledged them.

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { sharedStateOf, type LiveSharedState } from '../../../../src/client/index.ts'
import { KEPT_PATCHES } from '../../../../src/domain/conversation/shared-state/shared-state.ts'
import { backends } from '../../../support/backend.ts'
import { clientOf, TRANSPORTS } from '../../../support/client.ts'
import { createProxy } from '../../../support/proxy.ts'
import { useServer } from '../../../support/server.ts'

type Board = { items: string[]; count?: number; title?: string }

describe.each(backends)('the live shared state on $name', (backend) => {
  const server = useServer(backend)

  async function start() {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada', 'bob', 'eve')
    const as = (actor: string, options: Parameters<typeof clientOf>[4] = {}, address = server.url) => {
      const client = clientOf(address, tenant.name, actor, TRANSPORTS[0], options)
      onTestFinished(() => client.close())
      return client.conversation(id)
    }
    return { tenant, as, bob: as('bob') }
  }

  /** A `fetch` that counts the reads of states, and that can hold the changes back. */
  function controlled() {
    let held: Promise<void> | null = null
    const control = {
      reads: 0,
      hold() {
        let release!: () => void
        held = new Promise((resolve) => (release = resolve))
        return release
      },
      async fetch(url: RequestInfo | URL, init?: RequestInit) {
        const body = String(init?.body)
        if (body.includes('query ReadState(')) control.reads += 1
        if (body.includes('updateSharedState(')) await held
        return fetch(url, init)
      },
    }
    return control
  }

  /** Listens until the end of the test. Returns a function that waits until the state is as the test expects. */
  function watch<T>(live: LiveSharedState<T>) {
    onTestFinished(live.subscribe(() => {}))
    return (expected: object) => vi.waitFor(() => expect(live.get()).toMatchObject(expected), { interval: 5 })
  }

  it('follows the changes of others, and reads again only when a patch does not follow', async () => {
    const { as, bob } = await start()
    const control = controlled()
    const live = sharedStateOf<Board>(as('ada', { fetch: control.fetch }), 'board')
    expect(live.get()).toEqual({ value: null, version: 0, status: 'loading', error: null, isPending: false })
    const until = watch(live)
    await until({ status: 'live', value: null, version: 0 })
    await bob.updateSharedState({ key: 'other', value: 1 })
    await bob.updateSharedState({ key: 'board', value: { items: ['a'] } })
    await until({ value: { items: ['a'] }, version: 1 })
    await bob.updateSharedState({ key: 'board', patch: [{ op: 'add', path: '/items/-', value: 'b' }] })
    await bob.updateSharedState({ key: 'board', merge: { count: 2 } })
    await bob.updateSharedState({ key: 'board', value: { items: ['b', 'a'], count: 2 } })
    await until({ value: { items: ['b', 'a'], count: 2 }, version: 4 })
    expect(control.reads).toBe(1)

    const large = 'x'.repeat(KEPT_PATCHES.bytes)
    await bob.updateSharedState({ key: 'board', merge: { title: large } })
    await until({ value: { items: ['b', 'a'], count: 2, title: large }, version: 5 })
    expect(control.reads).toBe(2)

    await bob.deleteSharedState('board')
    await until({ value: null, version: 0 })
    await bob.updateSharedState({ key: 'board', value: { items: [] } })
    await until({ value: { items: [] }, version: 7 })
    await bob.updateSharedState({ key: 'board', merge: { count: 1 } })
    await until({ value: { items: [], count: 1 }, version: 8 })
    // The deletion, and the creation: its version does not follow that of an absent state.
    expect(control.reads).toBe(4)
  })

  it('misses nothing while the connection is lost', async () => {
    const { as, bob } = await start()
    const proxy = await createProxy(server.url)
    onTestFinished(() => proxy.close())
    const live = sharedStateOf<Board>(as('ada', {}, proxy.url), 'board')
    const until = watch(live)
    await bob.updateSharedState({ key: 'board', value: { items: [] } })
    await until({ version: 1 })
    await proxy.cut()
    await until({ status: 'waiting', value: { items: [] } })
    for (let n = 1; n <= 5; n++) {
      await bob.updateSharedState({ key: 'board', patch: [{ op: 'add', path: '/items/-', value: `${n}` }] })
    }
    await proxy.restore()
    await until({ status: 'live', version: 6, value: { items: ['1', '2', '3', '4', '5'] } })
  })

  it('shows a change at once, and on top of the changes that others make meanwhile', async () => {
    const { as, bob } = await start()
    await bob.updateSharedState({ key: 'board', value: { items: ['a'] } })
    const control = controlled()
    const live = sharedStateOf<Board>(as('ada', { fetch: control.fetch }), 'board')
    const until = watch(live)
    await until({ version: 1 })
    const release = control.hold()
    const first = live.update({ patch: [{ op: 'add', path: '/items/0', value: 'ada' }] })
    const second = live.update((board) => void (board.count = board.items.length))
    const third = live.update({ merge: { title: 'Board' } })
    expect(live.get()).toMatchObject({
      value: { items: ['ada', 'a'], count: 2, title: 'Board' },
      version: 1,
      isPending: true,
    })
    await bob.updateSharedState({ key: 'board', patch: [{ op: 'add', path: '/items/0', value: 'bob' }] })
    await until({ value: { items: ['ada', 'bob', 'a'], count: 3, title: 'Board' }, version: 2, isPending: true })

    const shown: string[] = []
    onTestFinished(live.subscribe(() => shown.push(JSON.stringify(live.get().value))))
    release()
    expect(await Promise.all([first, second, third])).toEqual([3, 4, 5])
    const value = { items: ['ada', 'bob', 'a'], count: 3, title: 'Board' }
    await until({ value, version: 5, isPending: false, error: null })
    // No change disappears between its acknowledgement and its event.
    expect(shown.filter((each) => each !== JSON.stringify(value))).toEqual([])
    expect(await bob.sharedState('board')).toMatchObject({ value, version: 5 })
  })

  it('takes back a change that is refused, and tells why', async () => {
    const { as, bob } = await start()
    const schema = { type: 'object', properties: { count: { type: 'integer' } } }
    await bob.updateSharedState({ key: 'board', value: { items: [] }, schema })
    const live = sharedStateOf<Board>(as('ada'), 'board')
    const until = watch(live)
    await until({ version: 1 })
    const refused = live.update({ merge: { count: 'many' } })
    const kept = live.update({ merge: { title: 'Board' } })
    expect(live.get().value).toEqual({ items: [], count: 'many', title: 'Board' })
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(live.get().value).toEqual({ items: [], title: 'Board' })
    expect(await kept).toBe(2)
    const failing = live.update({ patch: [{ op: 'remove', path: '/none' }] })
    expect(live.get()).toMatchObject({ value: { items: [], title: 'Board' }, isPending: true })
    await expect(failing).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await until({ value: { items: [], title: 'Board' }, isPending: false, error: { code: 'INVALID_INPUT' } })
    await live.update({ value: { items: ['x'] } })
    await until({ value: { items: ['x'] }, version: 3, error: null })
  })

  it('passes on what a function throws, and gives up a key that others have taken', async () => {
    const { as, bob } = await start()
    await bob.updateSharedState({ key: 'private', value: 1, audience: ['bob'] })
    const control = controlled()
    const live = sharedStateOf<number>(as('ada', { fetch: control.fetch }), 'private')
    await watch(live)({ status: 'live', value: null })
    await expect(live.update(() => 2)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(control.reads).toBeLessThan(4)
    await expect(live.update({ value: 2 })).rejects.toMatchObject({ code: 'CONFLICT' })
    const broken = sharedStateOf<Board>(as('ada'), 'none')
    await expect(broken.update((board) => void board.items.push('x'))).rejects.toThrow(TypeError)
    expect(broken.get()).toMatchObject({ value: null, isPending: false, error: expect.any(TypeError) })
  })

  it('holds null, as any JSON value', async () => {
    const { as, bob } = await start()
    const live = sharedStateOf<number | null>(as('ada'), 'answer')
    const until = watch(live)
    await live.update({ value: null })
    await live.update(() => 1)
    await live.update(() => null)
    await until({ value: null, version: 3 })
    expect(await bob.sharedState('answer')).toMatchObject({ value: null, version: 3 })
  })

  it('keeps the changes of all functions of concurrent programs, and shows everybody the same', async () => {
    const { as } = await start()
    const actors = ['ada', 'bob', 'eve']
    const lives = actors.map((actor) => sharedStateOf<Partial<Board>>(as(actor), 'board'))
    const untils = lives.map(watch)
    const changes = lives.flatMap((live, index) =>
      Array.from({ length: 8 }, (_, n) =>
        live.update((board) => {
          const { items = [], count = 0 } = board
          return { items: [...items, `${actors[index]} ${n}`], count: count + 1 }
        }),
      ),
    )
    const versions = await Promise.all(changes)
    expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 24 }, (_, index) => index + 1))
    for (const until of untils) await until({ version: 24, isPending: false })
    const { value } = lives[0]!.get()
    expect(value!.count).toBe(24)
    for (const actor of actors) {
      const own = value!.items!.filter((item) => item.startsWith(actor))
      expect(own).toEqual(Array.from({ length: 8 }, (_, n) => `${actor} ${n}`))
    }
    for (const live of lives) expect(live.get().value).toEqual(value)
  })
})
