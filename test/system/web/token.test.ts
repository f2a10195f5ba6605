// The web app on a server that authenticates its clients: it asks for a token, keeps it only on request, respects the
// rights of the token, and asks again when the token is revoked. Runs only with LONG=1.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey, revokeApiKey } from '../../../src/domain/trust/api-key/api-key.ts'
import { createConversation } from '../../../src/domain/conversation/conversation.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { useServer } from '../../support/server.ts'
import { openApp, type App } from '../../support/web-app.ts'

const admin = { tenant: 'default', actor: 'admin' }
const ada = { tenant: 'default', actor: 'ada' }

describe.runIf(isLong && chromiumPath)('the web app with a token (needs LONG=1, and Chromium)', () => {
  const server = useServer(embedded, { AUTH_MODE: 'keys' })
  let browser: Browser
  let app: App
  let id: string
  let keys = 0
  const newKey = (...rights: ('read' | 'write')[]) =>
    createApiKey(server.deps, admin, { name: `key ${++keys}`, actor: 'ada', rights })

  beforeAll(async () => {
    const { conversation } = await createConversation(server.deps, ada, {
      title: 'Garden',
      participants: [{ actor: 'ada' }, { actor: 'bob' }],
    })
    id = conversation.id
    browser = await startChromium()
    app = await openApp(browser, server.url, { name: null, withLosses: true })
  })
  afterAll(() => browser?.close())

  const field = () => app.page.getByLabel('API key or token')
  async function enter(token: string, isKept = false): Promise<void> {
    await field().fill(token)
    if (isKept) await app.page.getByLabel('Keep it until this tab is closed').check()
    await app.page.getByRole('button', { name: 'Enter' }).click()
  }
  const welcome = () => app.page.getByRole('heading', { name: 'Welcome, ada' }).waitFor()
  const stored = () =>
    app.page.evaluate(() => [sessionStorage, localStorage].map((each) => JSON.stringify(each)).join())

  it('connects once when the person tries again', async () => {
    const { page } = app
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/graphql', (route) => route.fulfill({ body: 'not yet' }))
    await page.reload()
    const again = page.getByRole('button', { name: 'Try again' })
    await again.waitFor()
    await page.unroute('**/graphql')
    await page.route('**/graphql', async (route) => {
      await held
      await route.continue()
    })
    await again.click()
    await page.getByText('Connecting …').waitFor()
    expect(await again.count()).toBe(0)
    release()
    await field().waitFor()
    await page.unroute('**/graphql')
  })

  it('asks for a token, and says why it refuses one', async () => {
    await field().waitFor()
    await enter('colloquy_wrong')
    await app.page.getByRole('alert').getByText('The token is not valid.').waitFor()
  })

  it('keeps the token in memory, so that a reload asks again', async () => {
    const { token } = await newKey('read', 'write')
    await enter(token)
    await welcome()
    expect(await stored()).not.toContain(token)
    await app.page.reload()
    await field().waitFor()
  })

  it('keeps it in the tab on request, and forgets it when the person leaves', async () => {
    const { token } = await newKey('read', 'write')
    await enter(token, true)
    await welcome()
    await app.page.reload()
    await welcome()
    await app.page.getByRole('button', { name: 'Menu of ada' }).click()
    await app.page.getByRole('menuitem', { name: 'Leave as ada' }).click()
    await field().waitFor()
    expect(await stored()).not.toContain(token)
  })

  it('says which right a panel needs, and lets a token that may only read not write', async () => {
    await enter((await newKey('read')).token)
    await welcome()
    expect(await app.page.getByRole('button', { name: 'New', exact: true }).isDisabled()).toBe(true)
    await app.page.getByLabel('Search titles and what was said').fill('garden')
    await app.page.getByText('No message or fact matches.').waitFor()
    await app.page.getByLabel('Search titles and what was said').fill('')
    await app.open(id, 'view')
    await app.page.getByText('To read in the view of others, a credential needs the right act-as').waitFor()
    expect(await app.page.getByLabel('Message', { exact: true }).isDisabled()).toBe(true)
    await app.page.getByRole('button', { name: 'Menu of ada' }).click()
    await app.page.getByRole('menuitem', { name: 'Leave as ada' }).click()
  })

  it('asks again, with the reason, when the token is revoked', async () => {
    const { token, apiKey } = await newKey('read', 'write')
    await enter(token)
    await app.open(id)
    await app.say('Hello')
    await app.sees('Hello')
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await app.page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('appendTurn')) await held
      await route.continue()
    })
    /** Whether the browser would ask before it closes the page. */
    const asks = () => app.page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })))
    await expect.poll(asks).toBe(false)
    await app.say('sent too late')
    await app.page.getByText('Sending …').waitFor()
    expect(await asks()).toBe(true)
    await app.page.getByLabel('Message', { exact: true }).fill('not finished')
    await revokeApiKey(server.deps, admin, { id: apiKey.id })
    release()
    await field().waitFor()
    await app.page.unroute('**/graphql')
    await app.page.getByRole('alert').getByText('The API key was revoked.').waitFor()
    expect(app.problems).toEqual([])
  })

  it('keeps the draft for the same person, and for nobody else', async () => {
    const message = app.page.getByLabel('Message', { exact: true })
    await enter((await newKey('read', 'write')).token)
    // The message that the server refused, and the text that was not sent.
    await expect.poll(() => message.inputValue()).toBe('sent too late\n\nnot finished')
    await app.page.getByRole('button', { name: 'Menu of ada' }).click()
    await app.page.getByRole('menuitem', { name: 'Leave as ada' }).click()
    await field().waitFor()
    for (const text of ['sent too late', 'not finished']) expect(await stored()).not.toContain(text)
    await enter((await newKey('read', 'write')).token)
    await expect.poll(() => message.inputValue()).toBe('')
    expect(app.problems).toEqual([])
  })
})
