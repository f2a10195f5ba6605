// GraphiQL in headless Chromium: every sample runs as its actor, a subscription continues while other tabs are used,
// and nothing is loaded from another server. Runs only with LONG=1. SCREENSHOTS names a directory for screenshots.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { tabs } from '../../../../../src/server/pages/graphiql/graphiql.ts'
import { embedded } from '../../../../support/backend.ts'
import { chromiumPath, screenshot, startChromium } from '../../../../support/chromium.ts'
import { isLong } from '../../../../support/long.ts'
import { PATIENCE_MS } from '../../../../support/patience.ts'
import { createProxy, type Proxy } from '../../../../support/proxy.ts'
import { useServer } from '../../../../support/server.ts'

const WIDTH = 1_360

/** The operations of a tab, by their names, in order. */
const operationsOf = (query: string) =>
  [...query.matchAll(/^(?:query|mutation|subscription) (\w+)/gm)].map((m) => m[1]!)
const WATCH = tabs.findIndex(({ query }) => query.includes('subscription'))

type Result = {
  data?: Record<string, { code?: string; message?: string; run?: { state: string } } | null>
  errors?: object[]
}

describe.runIf(isLong && chromiumPath)('GraphiQL in Chromium (needs LONG=1, and Chromium or CHROMIUM_PATH)', () => {
  const server = useServer(embedded)
  let proxy: Proxy
  let origin: string
  let browser: Browser
  let page: Page
  /** Errors of the page, and requests to other servers. Must stay empty. */
  const problems: string[] = []
  const frames: string[] = []

  beforeAll(async () => {
    proxy = await createProxy(server.url)
    origin = new URL(proxy.url).origin
    browser = await startChromium()
    page = await browser.newPage({ viewport: { width: WIDTH, height: 900 } })
    page.setDefaultTimeout(PATIENCE_MS)
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`)
    })
    page.on('pageerror', (error) => problems.push(`exception: ${error.message}`))
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) problems.push(`loads ${url}`)
    })
    page.on('websocket', (socket) => {
      if (socket.url() !== `${origin.replace('http', 'ws')}/graphql`) problems.push(`connects to ${socket.url()}`)
      socket.on('framesent', ({ payload }) => frames.push(String(payload)))
    })
    await page.goto(`${origin}/graphql`)
    await page.getByRole('tab', { name: 'Create' }).waitFor()
    await page.getByText('"x-actor"').waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await proxy?.close()
  })

  /** GraphiQL reads its editors, and stores its tabs, after a pause of at most 500 ms. */
  const settled = () => page.waitForTimeout(800)
  const select = async (tab: number) => {
    await page.locator('.graphiql-tab-button').nth(tab).click()
    await page.locator(`[role=tab][aria-selected=true]:nth-child(${tab + 1})`).waitFor()
    await settled()
  }
  /** Runs an operation of the selected tab. */
  async function press(name: string): Promise<void> {
    await page.locator('.graphiql-execute-button').click()
    const item = page.getByRole('menuitem', { name, exact: true })
    const isMenu = await page.locator('.graphiql-execute-button').getAttribute('aria-haspopup')
    if (isMenu === 'menu') await item.click()
  }
  /** Runs a query or mutation of the selected tab, and returns its result and the actor of its request. */
  async function run(name: string): Promise<{ result: Result; actor: string | undefined }> {
    const answered = page.waitForResponse((response) => {
      const body = response.request().postData() ?? ''
      return response.url().endsWith('/graphql') && body.includes(`"operationName":"${name}"`)
    })
    await press(name)
    const response = await answered
    return { result: await response.json(), actor: response.request().headers()['x-actor'] }
  }
  const live = () => page.locator('#live')
  const rows = async () => (await live().locator('li').allTextContents()).map((text) => JSON.parse(text))

  it('opens through a redirect from the endpoint, with its initial tabs', async () => {
    expect(page.url()).toBe(`${origin}/graphiql`)
    expect(await page.locator('[role=tab]').count()).toBe(tabs.length)
    await screenshot(page, '00-first')
  })

  it.each(tabs.map((tab, at) => ({ ...tab, at, names: operationsOf(tab.query) })))(
    'runs the sample $names as its actor, and cuts off no text',
    async ({ at, names, headers }) => {
      await select(at)
      const actor = JSON.parse(headers)['x-actor']
      if (at === WATCH) {
        await press(names[0]!)
        await live().getByText('ParticipantJoined').first().waitFor()
        expect(await live().locator('header').textContent()).toBe(`Watch as ${actor}liveStop`)
        expect(frames[0]).toBe(JSON.stringify({ type: 'connection_init', payload: { 'x-actor': actor } }))
      } else {
        for (const name of names) {
          const { result, actor: sent } = await run(name)
          expect(sent).toBe(actor)
          expect(result.errors).toBeUndefined()
          for (const value of Object.values(result.data!)) {
            expect(value).not.toBeNull()
            expect(value!.message).toBeUndefined()
            if (value!.run) expect(value!.run.state).toBe('COMPLETED')
          }
        }
      }
      await page.locator('.result-window .view-line').nth(2).waitFor()
      await screenshot(page, `${String(at + 1).padStart(2, '0')}-${names[0]}`)
      expect(await overflow(page)).toEqual([])
    },
  )

  it('continues the subscription while other tabs are used', async () => {
    const types = (await rows()).map(({ __typename }) => __typename)
    for (const type of ['TurnAppended', 'TurnOpened', 'TurnDelta', 'TurnCommitted']) expect(types).toContain(type)
    expect(await live().locator('.state').textContent()).toBe('live')
    const seqs = (await rows()).map(({ seq }) => seq).filter((seq) => seq !== null && seq !== undefined)
    expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  })

  it('resumes the subscription after a lost connection', async () => {
    const before = (await rows()).length
    await proxy.cut()
    await live().getByText('connecting').waitFor()
    const mutation = `mutation { appendTurn(input: { conversationKey: "welcome", turn: { role: USER, content: "Meanwhile." } }) { __typename } }`
    const { body } = await server.post({ query: mutation }, { 'x-actor': 'scribe' })
    expect(body.data.appendTurn.__typename).toBe('AppendTurnPayload')
    await proxy.restore()
    await live().getByText('Meanwhile.').waitFor()
    expect((await rows()).length).toBe(before + 1)
    // Chromium reports the lost connection and the refused ones.
    const lost = /^error: WebSocket connection to .* failed/
    problems.splice(0, problems.length, ...problems.filter((problem) => !lost.test(problem)))
  })

  it('restores the tabs and their headers, and takes its files from the cache, when it is loaded again', async () => {
    await select(3)
    const network = await page.context().newCDPSession(page)
    const statuses: number[] = []
    network.on('Network.responseReceivedExtraInfo', ({ statusCode }) => statuses.push(statusCode))
    await network.send('Network.enable')
    await page.reload()
    await page.getByRole('tab', { name: 'Create' }).waitFor()
    expect(await page.locator('[role=tab]').count()).toBe(tabs.length)
    await settled()
    await screenshot(page, '12-reloaded')
    // Only the page and the schema are read again, because a POST to the address of the page removes it from the cache.
    expect(statuses).toEqual([200, 200])
    await page.evaluate(`fetch(document.querySelector('script[src]').src, { cache: 'no-cache' })`)
    await vi.waitFor(() => expect(statuses[2]).toBe(304))
    const { actor } = await run('Open')
    expect(actor).toBe('scout')
  })

  it('shows the query and its result below each other on a phone', async () => {
    await select(0)
    await page.setViewportSize({ width: 375, height: 667 })
    await run('Create')
    await page.locator('.result-window .view-line').nth(2).waitFor()
    await screenshot(page, '12-phone')
    const [editors, result] = await Promise.all(
      ['.graphiql-editors', '.graphiql-response'].map(async (part) => (await page.locator(part).boundingBox())!),
    )
    expect(editors!.width).toBeGreaterThan(250)
    expect(result!.width).toBeGreaterThan(250)
    expect(result!.y).toBeGreaterThanOrEqual(editors!.y + editors!.height)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375)
    await page.setViewportSize({ width: WIDTH, height: 900 })
  })

  it('ends a subscription with the button of GraphiQL or of the panel', async () => {
    await select(WATCH)
    await press('Watch')
    await live().getByText('ParticipantJoined').first().waitFor()
    await press('Watch')
    await live().getByText('stopped').waitFor()
    await press('Watch')
    await live().getByText('live', { exact: true }).waitFor()
    expect(await live().locator('article').count()).toBe(1)
    const { y, height } = (await live().boundingBox())!
    await live().getByText('Meanwhile.').waitFor()
    expect(await live().boundingBox()).toMatchObject({ y, height })
    await live().getByRole('button', { name: 'Stop' }).click()
    await live().getByRole('button', { name: 'Remove' }).click()
    expect(await live().isVisible()).toBe(false)
  })

  it('shows why a subscription fails', async () => {
    await page.getByRole('button', { name: 'New tab' }).click()
    await page.locator('.graphiql-query-editor .monaco-editor').click()
    await page.keyboard.insertText('subscription Lost { conversationEvents(conversationKey: "unknown") { seq } }')
    await settled()
    await page.keyboard.press('Control+Enter')
    await live().getByText('unknown').first().waitFor()
    expect(await live().locator('header').textContent()).toBe('Lost as adafailedRemove')
    await screenshot(page, '13-failed')
  })

  it('reports no error, and loads nothing from another server', () => {
    expect(problems).toEqual([])
  })
})

/** The parts of the page that are cut off: the page itself, tabs, and lines of the query and variables. */
const overflow = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const cut = []
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth > clientWidth) cut.push('page ' + scrollWidth)
    for (const tab of document.querySelectorAll('[role=tab]')) {
      if (tab.getBoundingClientRect().right > innerWidth) cut.push('tab ' + tab.textContent)
    }
    for (const editor of document.querySelectorAll('.graphiql-query-editor, .graphiql-editor-tool')) {
      const toolbar = editor.querySelector('.graphiql-toolbar')
      const right = (toolbar ?? editor).getBoundingClientRect()[toolbar ? 'left' : 'right']
      for (const line of editor.querySelectorAll('.view-line > span')) {
        if (line.getBoundingClientRect().right > right) cut.push('line ' + line.textContent)
      }
    }
    return cut
  })()`)
