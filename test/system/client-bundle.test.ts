// The client in browsers: its bundle is small and contains no module of Node, and it works in Chromium with a real
// server.

import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { embedded } from '../support/backend.ts'
import { chromiumPath, startChromium } from '../support/chromium.ts'
import { clientOf } from '../support/client.ts'
import { isLong } from '../support/long.ts'
import { useServer } from '../support/server.ts'

/**
 * Maximum size of the client with all its functions, minified and compressed: 18 KiB, of which uploads take 0.7 KiB. The documents of its operations
 * take a third of it.
 */
const MAX_CLIENT = 18 * 1024
/**
 * Maximum size that the other exports add, minified and compressed, in bytes: `sharedStateOf`, which takes half of it,
 * `transfersOf`, and the tables for other GraphQL clients, such as `possibleTypes`.
 */
const MAX_OTHERS = 2_700
/** Maximum size that the React hooks add to the client, minified and compressed, in bytes. */
const MAX_HOOKS = 1_000
/** Maximum size that the transport of the AI SDK adds to the client, minified and compressed, in bytes. */
const MAX_AI_SDK = 8 * 1024

/** Bundles a program for browsers. */
async function bundle(contents: string, external: string[] = []): Promise<string> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: new URL('../..', import.meta.url).pathname, loader: 'tsx' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    jsx: 'automatic',
    metafile: true,
    external,
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const inputs = Object.keys(metafile.inputs).filter((path) => !/^(src\/(ai-sdk|client|react)\/|<stdin>)/.test(path))
  expect(inputs.filter((path) => !/^node_modules\/(react|react-dom|scheduler)\//.test(path))).toEqual([])
  return outputFiles[0]!.text
}
const compressed = (code: string) => gzipSync(code, { level: 9 }).length

it(`the client takes less than ${MAX_CLIENT} bytes, and imports no module of Node and no package`, async () => {
  const client = await bundle(`export { connect, itemsOf } from './src/client/index.ts'`)
  expect(client).not.toMatch(/\bimport\b|\brequire\(/)
  const size = compressed(client)
  expect(size).toBeLessThan(MAX_CLIENT)
  expect(size).toBeGreaterThan(MAX_CLIENT / 2)
  const all = compressed(await bundle(`export * from './src/client/index.ts'`))
  expect(all - size).toBeLessThan(MAX_OTHERS)
  const withHooks = await bundle(`export * from './src/client/index.ts'\nexport * from './src/react/index.ts'`, [
    'react',
  ])
  expect(compressed(withHooks) - all).toBeLessThan(MAX_HOOKS)
  const withTransport = await bundle(`export * from './src/client/index.ts'\nexport * from './src/ai-sdk/index.ts'`)
  expect(withTransport).not.toMatch(/\bimport\b|\brequire\(/)
  expect(compressed(withTransport) - all).toBeLessThan(MAX_AI_SDK)
})

describe.runIf(isLong && chromiumPath)('the client in Chromium (needs LONG=1)', () => {
  const server = useServer(embedded)
  let close = async () => {}
  afterAll(() => close())

  /** Opens a page of the server's own origin that runs the program. */
  async function open(contents: string) {
    const browser = await startChromium()
    close = () => browser.close()
    const page = await browser.newPage({ bypassCSP: true })
    page.on('pageerror', (error) => console.error(error))
    const content = await bundle(contents)
    // The page comes from the server, because a page that the test served could not connect to a local address.
    await page.goto(`${server.url}/health`)
    await page.evaluate('document.body.innerHTML = "<div id=root></div>"')
    await page.addScriptTag({ type: 'module', content })
    return page
  }

  it('shows a transcript, pending turns and an inbox with React, writes a stream, and follows over WebSocket', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada', 'bob')
    await tenant.append(id, 'bob', 'Good morning.')
    const page = await open(`
      import { StrictMode } from 'react'
      import { createRoot } from 'react-dom/client'
      import { connect } from './src/client/index.ts'
      import { ColloquyProvider, useConversation, useInbox, useTranscript } from './src/react/index.ts'
      const client = connect({ url: '/graphql', tenant: ${JSON.stringify(tenant.name)}, actor: 'ada' })
      const source = () => new ReadableStream({
        start(controller) {
          for (const word of ['Hello ', 'to ', 'all']) controller.enqueue(word)
          controller.close()
        },
      })
      function Chat() {
        const conversation = useConversation(${JSON.stringify(id)})
        const { turns, pending, status } = useTranscript(conversation)
        const { unreadCount } = useInbox()
        return <main>
          <ul>{turns.map((turn) => <li key={turn.position}>{turn.actor}: {turn.text}</li>)}
            {pending.map(({ clientId, turn, status }) => <li key={clientId}>{turn.content}: {status}</li>)}
          </ul>
          <p>{status} {unreadCount}</p>
          <button onClick={() => conversation.write(source()).then(() => conversation.markRead())}>write</button>
          <button onClick={() => conversation.append('Still here.')}>append</button>
        </main>
      }
      createRoot(document.getElementById('root')).render(
        <StrictMode><ColloquyProvider client={client}><Chat /></ColloquyProvider></StrictMode>,
      )
    `)
    const lines = () => page.locator('li').allInnerTexts()
    await expect.poll(lines).toEqual(['bob: Good morning.'])
    await expect.poll(() => page.locator('p').innerText()).toBe('live 1')
    await tenant.append(id, 'bob', 'Anyone?')
    await expect.poll(lines).toEqual(['bob: Good morning.', 'bob: Anyone?'])
    await page.locator('button', { hasText: 'write' }).click()
    await expect.poll(lines).toEqual(['bob: Good morning.', 'bob: Anyone?', 'ada: Hello to all'])
    await expect.poll(() => page.locator('p').innerText()).toBe('live 0')

    await page.context().setOffline(true)
    await page.locator('button', { hasText: 'append' }).click()
    await expect.poll(async () => (await lines()).at(-1)).toBe('Still here.: PENDING')
    await page.context().setOffline(false)
    await expect.poll(async () => (await lines()).at(-1)).toBe('ada: Still here.')
    expect(await lines()).toHaveLength(4)
  })

  it('renders a transcript once in a frame, however often it changes, and also while the page has no frames', async () => {
    const page = await open(`
      import { createRoot } from 'react-dom/client'
      import { connect } from './src/client/index.ts'
      import { useTranscript } from './src/react/index.ts'
      const { get } = connect({ url: '/graphql', actor: 'ada' }).conversation('none').transcript()
      let [state, listener] = [get(), () => {}]
      const subscribe = (added) => ((listener = added), () => {})
      const conversation = { transcript: () => ({ get: () => state, subscribe, older: async () => {} }) }
      let [frames, renders] = [0, 0]
      const count = () => { frames += 1; requestAnimationFrame(count) }
      requestAnimationFrame(count)
      function Chat() {
        renders += 1
        return useTranscript(conversation).lastSeq
      }
      createRoot(document.getElementById('root')).render(<Chat />)
      globalThis.change = async (times) => {
        frames = renders = 0
        for (let n = 0; n < times; n++) {
          state = { ...state, lastSeq: state.lastSeq + 1 }
          listener()
          await new Promise((resolve) => setTimeout(resolve))
        }
        return { frames, renders }
      }
    `)
    const shown = () => page.locator('#root').innerText()
    await expect.poll(shown).toBe('0')
    const { frames, renders } = (await page.evaluate('change(300)')) as Record<string, number>
    expect(renders).toBeGreaterThan(0)
    expect(renders).toBeLessThanOrEqual(frames! + 1)
    await expect.poll(shown).toBe('300')
    await page.evaluate('window.requestAnimationFrame = () => 0')
    await page.evaluate('change(1)')
    await expect.poll(shown).toBe('301')
  })

  it('shows the shared state with the changes of everybody, its own at once, and takes back what is refused', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada', 'bob')
    const bob = clientOf(server.url, tenant.name, 'bob').conversation(id)
    const schema = { type: 'object', properties: { steps: { type: 'array', maxItems: 3 } } }
    await bob.updateSharedState({ key: 'plan', value: { steps: ['fly'] }, schema })
    const page = await open(`
      import { StrictMode } from 'react'
      import { createRoot } from 'react-dom/client'
      import { connect } from './src/client/index.ts'
      import { ColloquyProvider, useConversation, useSharedState } from './src/react/index.ts'
      const client = connect({ url: '/graphql', tenant: ${JSON.stringify(tenant.name)}, actor: 'ada' })
      function Plan() {
        const { value, version, status, error, isPending, update } = useSharedState(
          useConversation(${JSON.stringify(id)}), 'plan')
        const add = () => update((plan) => void plan.steps.push('ada ' + plan.steps.length)).catch(() => {})
        return <main>
          <p>{status} {version} {value?.steps.join()} {isPending ? 'pending' : ''} {error?.code}</p>
          <button onClick={add}>add</button>
        </main>
      }
      createRoot(document.getElementById('root')).render(
        <StrictMode><ColloquyProvider client={client}><Plan /></ColloquyProvider></StrictMode>,
      )
    `)
    const shown = () => page.locator('p').innerText()
    const add = () => page.locator('button').click()
    await expect.poll(shown).toBe('live 1 fly')
    await bob.updateSharedState({ key: 'plan', patch: [{ op: 'add', path: '/steps/0', value: 'book' }] })
    await expect.poll(shown).toBe('live 2 book,fly')

    await page.context().setOffline(true)
    await add()
    await expect.poll(shown).toContain('2 book,fly,ada 2 pending')
    await bob.updateSharedState({ key: 'plan', patch: [{ op: 'remove', path: '/steps/0' }] })
    await page.context().setOffline(false)
    await expect.poll(shown).toBe('live 4 fly,ada 1')
    await add()
    await add()
    await expect.poll(shown).toBe('live 5 fly,ada 1,ada 2 INVALID_INPUT')
    expect((await bob.sharedState('plan'))!.value).toEqual({ steps: ['fly', 'ada 1', 'ada 2'] })
  })

  it('shows what a search finds, the facts and the participants, and updates them', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    await tenant.append(id, 'ada', 'The ferry leaves at noon.')
    const page = await open(`
      import { StrictMode, useState } from 'react'
      import { createRoot } from 'react-dom/client'
      import { connect } from './src/client/index.ts'
      import { ColloquyProvider, useConversation, useFacts, useParticipants, useRecall } from './src/react/index.ts'
      const client = connect({ url: '/graphql', tenant: ${JSON.stringify(tenant.name)}, actor: 'ada' })
      function Memory() {
        const conversation = useConversation(${JSON.stringify(id)})
        const [query, setQuery] = useState('')
        const hits = useRecall(conversation, query, { kinds: ['TURN'] }).value?.hits ?? []
        const facts = useFacts(conversation).value?.nodes ?? []
        const participants = useParticipants(conversation).value?.nodes ?? []
        return <main>
          <input value={query} onChange={({ target }) => setQuery(target.value)} />
          <ul>{hits.map(({ memory }) => <li key={memory.id}>{memory.text}</li>)}</ul>
          <p id="facts">{facts.map(({ object }) => object).join()}</p>
          <p id="participants">{participants.map(({ actor }) => actor).join()}</p>
        </main>
      }
      createRoot(document.getElementById('root')).render(
        <StrictMode><ColloquyProvider client={client}><Memory /></ColloquyProvider></StrictMode>,
      )
    `)
    const text = (selector: string) => page.locator(selector).innerText()
    await expect.poll(() => text('#participants')).toBe('ada')
    await page.locator('input').fill('ferry')
    await expect.poll(() => page.locator('li').allInnerTexts()).toEqual(['The ferry leaves at noon.'])
    const ada = clientOf(server.url, tenant.name, 'ada')
    await ada.conversation(id).remember({ subject: 'ada', predicate: 'likes', object: 'ferries' })
    await expect.poll(() => text('#facts')).toBe('ferries')
    await clientOf(server.url, tenant.name, 'owner').conversation(id).addParticipant({ actor: 'bob' })
    await expect.poll(() => text('#participants')).toBe('ada,bob')
    await page.locator('input').fill('')
    await expect.poll(() => page.locator('li').count()).toBe(0)
  })
})
