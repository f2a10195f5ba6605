// GraphiQL in headless Chromium on a server that requires a token: it asks for one in a dialog, sends it with queries and
// subscriptions, keeps it for the tab only, and asks again when the token is revoked. Runs only with LONG=1. SCREENSHOTS
// names a directory for screenshots.

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey, revokeApiKey } from '../../../../../src/domain/trust/api-key/api-key.ts'
import { embedded } from '../../../../support/backend.ts'
import { chromiumPath, screenshot, startChromium } from '../../../../support/chromium.ts'
import { isLong } from '../../../../support/long.ts'
import { PATIENCE_MS } from '../../../../support/patience.ts'
import { useServer } from '../../../../support/server.ts'

const admin = { tenant: 'default', actor: 'admin' }

describe.runIf(isLong && chromiumPath)('GraphiQL with a token (needs LONG=1, and Chromium or CHROMIUM_PATH)', () => {
  const server = useServer(embedded, { AUTH_MODE: 'keys' })
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let keys = 0
  const newKey = () =>
    createApiKey(server.deps, admin, { name: `key ${++keys}`, actor: 'ada', rights: ['read', 'write'] })

  beforeAll(async () => {
    browser = await startChromium()
    context = await browser.newContext()
    page = await context.newPage()
    await page.goto(`${server.url}/graphiql`)
  })
  afterAll(() => browser?.close())

  const dialog = (of = page) => of.locator('dialog#token')
  async function enter(token: string): Promise<void> {
    await dialog().locator('input').fill(token)
    await dialog().getByRole('button', { name: 'Use token' }).click()
  }
  const stored = (of = page) => of.evaluate(() => [sessionStorage, localStorage].map((each) => JSON.stringify(each)))
  /** Runs the query in the page as GraphiQL does, and returns the answer. */
  const ask = () =>
    page.evaluate(
      async () => (await (globalThis as any).send({ query: '{ viewer { actor } }' }, { 'x-actor': 'bob' })).data,
    )
  /** Subscribes in the page as GraphiQL does. The panel shows the events. */
  const watch = () =>
    page.evaluate(() => {
      const params = { query: 'subscription { inbox { __typename } }' }
      ;(globalThis as any).startStream('inbox', params, {}, { next() {}, complete() {} })
    })

  it('asks for a token, asks again after a wrong one, and sends it with queries', async () => {
    await dialog().waitFor()
    expect(await dialog().locator('p').textContent()).toBe('This server requires an API key or a token.')
    await enter('colloquy_wrong')
    await dialog().getByText('The token is not valid.').waitFor()
    const { token } = await newKey()
    await enter(token)
    await dialog().waitFor({ state: 'detached' })
    expect(await ask()).toEqual({ viewer: { actor: 'ada' } })
  })

  it('keeps the token for the tab only', async () => {
    const [session, local] = await stored()
    expect(session).toContain('colloquy_')
    expect(local).not.toContain('colloquy_')
    const other = await context.newPage()
    await other.goto(`${server.url}/graphiql`)
    await dialog(other).waitFor()
    await other.close()
  })

  it('sends the token with subscriptions, and asks again when the token is revoked', async () => {
    const first = await newKey()
    await page.evaluate((token) => sessionStorage.setItem('colloquy-token', token), first.token)
    await watch()
    await page.locator('#live .state', { hasText: 'live' }).waitFor()
    await revokeApiKey(server.deps, admin, { id: first.apiKey.id })
    await dialog().getByText('The API key was revoked.').waitFor()
    await enter((await newKey()).token)
    await page.locator('#live .state', { hasText: 'live' }).waitFor()
  })

  it('stops asking when the user cancels, by the button or by Escape', async () => {
    await page.evaluate(() => sessionStorage.removeItem('colloquy-token'))
    for (const cancel of [
      () => dialog().getByRole('button', { name: 'Cancel' }).click(),
      () => page.keyboard.press('Escape'),
    ]) {
      const answered = page.evaluate(() => (globalThis as any).send({ query: '{ __typename }' }, {}))
      await dialog().waitFor()
      await cancel()
      expect(await answered).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
      expect(await dialog().count()).toBe(0)
    }
  })

  it('asks again for a query after the user has cancelled, but not for the schema, which GraphiQL reads by itself', async () => {
    const schema = { query: 'query IntrospectionQuery { __typename }', operationName: 'IntrospectionQuery' }
    const answered = page.evaluate((params) => (globalThis as any).send(params, {}), schema)
    expect(await answered).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    const query = page.evaluate(() => (globalThis as any).send({ query: '{ __typename }' }, {}))
    await dialog().waitFor()
    await page.keyboard.press('Escape')
    await query
  })

  it('does not ask when the headers of the GraphiQL tab contain the token that is refused', async () => {
    const answer = await page.evaluate(() =>
      (globalThis as any).send({ query: '{ __typename }' }, { Authorization: 'Bearer colloquy_wrong' }),
    )
    expect(answer).toMatchObject({ errors: [{ message: 'The token is not valid.' }] })
    expect(await dialog().count()).toBe(0)
  })
})

describe.runIf(isLong && chromiumPath)('The dialog for the token (needs LONG=1, and Chromium)', () => {
  const server = useServer(embedded, { AUTH_MODE: 'keys' })
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    browser = await startChromium()
  })
  afterAll(() => browser?.close())
  afterEach(() => page.close())

  const dialog = () => page.getByRole('dialog', { name: 'Authenticate' })
  const input = () => dialog().getByLabel('API key or token')
  async function open(width: number, height: number, colorScheme: 'light' | 'dark' = 'light'): Promise<void> {
    page = await browser.newPage({ viewport: { width, height }, colorScheme })
    page.setDefaultTimeout(PATIENCE_MS)
    await page.goto(`${server.url}/graphiql`)
    await dialog().waitFor()
  }
  /** Enters a token that the server refuses, and waits until the dialog says so. */
  async function enterWrong(): Promise<void> {
    await input().fill('colloquy_wrong')
    await page.keyboard.press('Enter')
    await dialog().getByRole('alert').getByText('The token is not valid.').waitFor()
  }

  const sizes = [
    [1_280, 720],
    [375, 667],
    [320, 568],
  ] as const
  const themes = ['light', 'dark'] as const
  it.each(sizes.flatMap(([width, height]) => themes.map((theme) => ({ width, height, theme }))))(
    'fits into a window of $width × $height px, and is legible in the $theme theme',
    async ({ width, height, theme }) => {
      await open(width, height, theme)
      for (const state of ['first', 'refused']) {
        if (state === 'refused') await enterWrong()
        await screenshot(page, `token-${width}-${theme}-${state}`)
        const box = (await dialog().boundingBox())!
        expect(box.x).toBeGreaterThanOrEqual(0)
        expect(box.y).toBeGreaterThanOrEqual(0)
        expect(box.x + box.width).toBeLessThanOrEqual(width)
        expect(box.y + box.height).toBeLessThanOrEqual(height)
        expect(box.height).toBeLessThan(400)
        for (const button of await dialog().getByRole('button').all()) {
          const size = (await button.boundingBox())!
          expect(size.height).toBeGreaterThanOrEqual(24)
          expect(size.height).toBeLessThanOrEqual(60)
          expect(size.x + size.width).toBeLessThanOrEqual(box.x + box.width)
        }
        expect(await dialog().evaluate((all) => all.scrollWidth - all.clientWidth)).toBe(0)
        expect(await lowContrast(page)).toEqual([])
      }
    },
  )

  it('is operated by the keyboard, and names the input and its error', async () => {
    await open(1_280, 720)
    const focused = () => page.evaluate(() => document.activeElement?.textContent || document.activeElement?.id)
    expect(await focused()).toBe('token-input')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Cancel')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Use token')
    await input().press('Enter')
    expect(await dialog().count()).toBe(1)
    expect(await input().getAttribute('aria-invalid')).toBe('false')
    await enterWrong()
    expect(await focused()).toBe('token-input')
    expect(await input().getAttribute('aria-invalid')).toBe('true')
    const described = (await input().getAttribute('aria-describedby'))!.split(' ')
    expect(await page.locator(`#${described[0]}`).textContent()).toBe('The token is not valid.')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
  })

  it('rejects a token that no header can contain', async () => {
    await open(1_280, 720)
    await input().fill('“colloquy_quoted”')
    await page.keyboard.press('Enter')
    expect(await input().evaluate((each: HTMLInputElement) => each.validity.patternMismatch)).toBe(true)
    expect(await page.evaluate(() => sessionStorage.getItem('colloquy-token'))).toBeNull()
  })
})

/** The texts of the dialog whose contrast with their background is less than 4.5 : 1, the minimum of WCAG AA. */
const lowContrast = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const parse = (color) => color.match(/[\\d.]+/g).map(Number)
    const over = ([r, g, b, a = 1], below) => [r, g, b].map((value, at) => value * a + below[at] * (1 - a))
    const behind = (each) => {
      const below = each.parentElement ? behind(each.parentElement) : [255, 255, 255]
      return over(parse(getComputedStyle(each).backgroundColor), below)
    }
    const luminance = (rgb) => {
      const [r, g, b] = rgb.map((value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const texts = [...document.querySelectorAll('#token :is(h2, p, label, input, small, button)')]
    return texts.flatMap((each) => {
      const background = behind(each)
      const [one, two] = [luminance(over(parse(getComputedStyle(each).color), background)), luminance(background)]
      const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05)
      return contrast < 4.5 ? [each.tagName + ' ' + contrast.toFixed(2)] : []
    })
  })()`)
