// The tabs of GraphiQL in headless Chromium: the examples appear on the first visit only, and the tabs survive a reload
// with their contents and the selection. Runs only with LONG=1. SCREENSHOTS names a directory for screenshots.

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { tabs } from '../../../../../src/server/pages/graphiql/graphiql.ts'
import { embedded } from '../../../../support/backend.ts'
import { chromiumPath, screenshot, startChromium } from '../../../../support/chromium.ts'
import { isLong } from '../../../../support/long.ts'
import { PATIENCE_MS } from '../../../../support/patience.ts'
import { useServer } from '../../../../support/server.ts'

const TITLES = tabs.map(({ query }) => /^(?:query|mutation|subscription) (\w+)/m.exec(query)![1]!)

type Tab = { query: string | null }
type Sent = { query: string; variables?: object; errors: unknown; headers: Record<string, string> }

describe.runIf(isLong && chromiumPath)('The tabs of GraphiQL (needs LONG=1, and Chromium or CHROMIUM_PATH)', () => {
  const server = useServer(embedded)
  let browser: Browser
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    browser = await startChromium()
  })
  afterAll(() => browser?.close())
  // Each test is a first visit, because the storage of a context is empty.
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1_360, height: 900 } })
    page = await context.newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    await open()
  })
  afterEach(() => context.close())

  const link = (query: string) => `?query=${encodeURIComponent(query)}`
  /** Waits until the editors have been created, so that the page accepts input. */
  async function ready(): Promise<void> {
    await page.locator('.graphiql-query-editor .view-line').first().waitFor()
    await page.locator('.graphiql-editor-tool .view-line:visible').first().waitFor()
  }
  async function open(search = ''): Promise<void> {
    await page.goto(`${server.url}/graphiql${search}`)
    await ready()
  }
  async function reload(): Promise<void> {
    await page.reload()
    await ready()
  }
  /**
   * Adds an empty tab, and waits until GraphiQL has stored it: if another tab is selected before, GraphiQL gives the new
   * one the contents of the editors, which are still those of the tab before it.
   */
  async function addTab(): Promise<void> {
    const count = (await shown()).titles.length
    await page.getByRole('button', { name: 'New tab' }).click()
    await vi.waitFor(async () => {
      const { tabs: all, activeTabIndex } = JSON.parse(await stored()) as { tabs: Tab[]; activeTabIndex: number }
      expect([all.length, activeTabIndex, all.at(-1)!.query ?? '']).toEqual([count + 1, count, ''])
    })
  }
  /** The titles of the tabs, and the position of the selected tab. */
  const shown = async () => ({
    titles: await page.locator('.graphiql-tab-button').allTextContents(),
    selected: await page
      .locator('[role=tab]')
      .evaluateAll((all) => all.findIndex((each) => each.getAttribute('aria-selected') === 'true')),
  })
  const select = (tab: number) => page.locator('.graphiql-tab-button').nth(tab).click()
  const editor = (name: 'query' | 'variables' | 'headers') =>
    name === 'query'
      ? page.locator('.graphiql-query-editor .monaco-editor')
      : page.locator(`.graphiql-editor-tool .graphiql-editor:not(.hidden) .monaco-editor`)
  /** Replaces the text of an editor, and waits until GraphiQL has stored it. */
  async function write(name: 'query' | 'variables' | 'headers', text: string): Promise<void> {
    if (name !== 'query') await page.getByRole('button', { name, exact: false }).first().click()
    await editor(name).click()
    await page.keyboard.press('Control+A')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText(text)
    await vi.waitFor(async () => expect(await stored()).toContain(JSON.stringify(text)))
  }
  const stored = () => page.evaluate(() => String(localStorage.getItem('graphiql:tabState')))
  /** Runs the selected tab, and returns what the page sent. */
  async function run(): Promise<Sent> {
    const answered = page.waitForResponse((response) => {
      const body = response.request().postData() ?? ''
      return response.url().endsWith('/graphql') && !body.includes('IntrospectionQuery')
    })
    await page.locator('.graphiql-execute-button').click()
    const response = await answered
    const { query, variables } = response.request().postDataJSON()
    const { errors } = await response.json()
    return { query, variables, errors, headers: response.request().headers() }
  }

  it('are the examples, also after two reloads without a change', async () => {
    expect(await shown()).toEqual({ titles: TITLES, selected: 0 })
    await page.getByText('"x-actor"').waitFor()
    for (const time of [1, 2]) {
      await reload()
      await screenshot(page, `tabs-reload-${time}`)
      expect(await shown()).toEqual({ titles: TITLES, selected: 0 })
      expect(await run()).toMatchObject({ query: tabs[0]!.query, errors: undefined })
    }
  })

  it('keep their contents and the selection through two reloads', async () => {
    await addTab()
    await write('query', 'query Mine($first: Int) { conversations(first: $first) { nodes { key } } }')
    await write('variables', '{ "first": 7 }')
    await write('headers', '{ "x-actor": "eve" }')
    const mine = { titles: [...TITLES, 'Mine'], selected: TITLES.length }
    for (const time of [1, 2]) {
      await reload()
      expect(await shown()).toEqual(mine)
      const sent = await run()
      expect(sent).toMatchObject({ variables: { first: 7 }, errors: undefined })
      expect(sent.query).toContain('query Mine')
      expect(sent.headers['x-actor']).toBe('eve')
      await screenshot(page, `tabs-edited-${time}`)
    }
    await select(2)
    await reload()
    expect(await shown()).toEqual({ ...mine, selected: 2 })
    expect((await run()).query).toBe(tabs[2]!.query)
    await select(TITLES.length)
    expect((await run()).variables).toEqual({ first: 7 })
  })

  it('keep the selection of a tab with the same contents as another', async () => {
    for (const _ of [1, 2]) await addTab()
    await select(TITLES.length)
    for (const _ of [1, 2]) {
      await reload()
      expect(await shown()).toEqual({ titles: [...TITLES, '<untitled>', '<untitled>'], selected: TITLES.length })
    }
  })

  it('do not come back when the user closed them', async () => {
    // Only the selected tab, the first, has a visible button.
    for (const [at] of TITLES.slice(2).entries()) {
      await page.getByRole('button', { name: 'Close Tab' }).click()
      await vi.waitFor(async () => expect((await shown()).titles).toEqual(TITLES.slice(at + 1)))
    }
    for (const _ of [1, 2]) {
      await reload()
      expect(await shown()).toEqual({ titles: TITLES.slice(-2), selected: 0 })
    }
  })

  it('are joined by the query of a link, once', async () => {
    const query = 'query Linked { viewer { actor } }'
    const linked = { titles: [...TITLES, 'Linked'], selected: TITLES.length }
    for (const again of [() => open(link(query)), reload, () => open(link(query)), () => open()]) {
      await again()
      expect(await shown()).toEqual(linked)
      expect(await run()).toMatchObject({ query, errors: undefined })
    }
    await select(0)
    await open(link(query))
    expect(await shown()).toEqual(linked)
    await open(link(tabs[3]!.query))
    expect(await shown()).toEqual({ ...linked, selected: 3 })
  })

  it('are the examples and the query of a link on a first visit by a link', async () => {
    await page.evaluate(() => localStorage.clear())
    await open(link('query Linked { viewer { actor } }'))
    expect(await shown()).toEqual({ titles: [...TITLES, 'Linked'], selected: TITLES.length })
    expect((await run()).headers['x-actor']).toBe('ada')
  })

  it('make the address a link to the query of the selected tab, unless the query is too long', async () => {
    await page.getByRole('button', { name: 'New tab' }).click()
    await write('query', '{ viewer { tenant } }')
    const named = () => new URL(page.url()).searchParams.get('query')
    await vi.waitFor(() => expect(named()).toBe('{ viewer { tenant } }'))
    await write('query', `{ viewer { tenant } } # ${'%'.repeat(8_000)}`)
    await vi.waitFor(() => expect(named()).toBeNull())
    await reload()
    expect(await run()).toMatchObject({ errors: undefined })
  })
})
