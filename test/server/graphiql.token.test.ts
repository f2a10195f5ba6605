// GraphiQL in headless Chromium on a server that requires a token: it asks for one, sends it with queries and
// subscriptions, keeps it for the tab only, and asks again when the token is revoked. Runs only with LONG=1.

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createApiKey, revokeApiKey } from '../../src/domain/api-key/api-key.ts'
import { embedded } from '../support/backend.ts'
import { chromiumPath, screenshot, startChromium } from '../support/chromium.ts'
import { isLong } from '../support/long.ts'
import { useServer } from '../support/server.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

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
    await page.goto(`${server.url}/graphql`)
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
    expect(await dialog().locator('p').textContent()).toContain('Authenticate with an API key')
    await screenshot(page, 'token')
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
    await other.goto(`${server.url}/graphql`)
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

  it('stops asking when the user cancels', async () => {
    await page.evaluate(() => sessionStorage.removeItem('colloquy-token'))
    const answered = page.evaluate(() => (globalThis as any).send({ query: '{ __typename }' }, {}))
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect(await answered).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
  })
})
