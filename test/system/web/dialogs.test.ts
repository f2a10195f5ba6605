// Dialogs of the web app: they close only when nothing is lost by it, and forms keep what a person has changed. Runs
// only with LONG=1.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { connect, type Client } from '../../../src/client/index.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { holdRequests, openApp, type App } from '../../support/web-app.ts'

describe.runIf(isLong && chromiumPath)('the dialogs of the web app (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let client: Client
  let app: App
  let page: Page
  let id: string

  beforeAll(async () => {
    server = await startServer(embedded)
    browser = await startChromium()
    client = connect({ url: server.url, actor: 'ada', webSocket: null })
    ;({ id } = await client.createConversation({ title: 'Two  blanks', participants: [{ actor: 'ada' }] }))
    app = await openApp(browser, new URL(server.url).origin)
    ;({ page } = app)
    await app.open(id)
    await app.showPanel('Server')
  })
  afterAll(async () => {
    await client?.close()
    await browser?.close()
    await server?.stop()
  })
  const panel = () => page.locator('.panels')
  const dialog = () => page.getByRole('dialog')
  const subTab = (name: string) => panel().getByRole('tab', { name, exact: true }).click()
  /** Tries to close the dialog without one of its own buttons. */
  async function tryToClose(): Promise<void> {
    // A browser closes a dialog on a second Escape, even if the page prevents it.
    for (let n = 0; n < 3; n++) await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
  }

  it('stay open while their action runs', async () => {
    await subTab('Keys')
    await panel().getByRole('button', { name: 'Create a key' }).click()
    await dialog().getByLabel('Name, for administrators').fill('reporting')
    const held = await holdRequests(page, 'mutation CreateApiKey')
    await dialog().getByRole('button', { name: 'Create', exact: true }).click()
    await held.arrived
    await tryToClose()
    expect(await dialog().getByRole('button', { name: 'Sending …' }).isVisible()).toBe(true)
    expect(await dialog().getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)
    expect(await dialog().getByRole('button', { name: 'Close' }).isVisible()).toBe(false)
    await held.release()
  })

  it('keep a new secret until the person has stored it, and then return the focus', async () => {
    await dialog()
      .getByText(/^colloquy_/)
      .waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await expect.poll(focused).toBe('Copy the secret')
    await page.keyboard.press('Enter')
    await tryToClose()
    expect(
      await dialog()
        .getByText(/^colloquy_/)
        .isVisible(),
    ).toBe(true)
    await dialog().getByRole('button', { name: 'I have stored it' }).click()
    await dialog().waitFor({ state: 'detached' })
    await expect.poll(focused).toBe('Create a key')
  })

  it('accept a title as the page shows it', async () => {
    await subTab('Erasure')
    await panel().getByRole('button', { name: 'Delete …' }).click()
    const confirm = dialog().getByRole('button', { name: 'Delete this conversation', exact: true })
    await dialog().getByRole('textbox').fill('Two')
    expect(await confirm.isDisabled()).toBe(true)
    await dialog().getByRole('textbox').fill('Two blanks')
    expect(await confirm.isEnabled()).toBe(true)
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
  })

  it('a number that is none is no empty setting, and changed settings survive another tab', async () => {
    await client.request(
      'mutation ($input: UpdateTenantSettingsInput!) { updateTenantSettings(input: $input) { __typename } }',
      { input: { tokensPerDay: 5_000, ttlSeconds: 7_200 } },
    )
    await subTab('Settings')
    const quota = panel().getByLabel(/^Tokens that all runs/)
    await expect.poll(() => quota.inputValue()).toBe('5000')
    const save = panel().getByRole('button', { name: 'Save' })
    await quota.fill('')
    await quota.pressSequentially('1e')
    await panel()
      .getByText(/a whole number is needed/)
      .waitFor()
    expect(await save.isDisabled()).toBe(true)
    await quota.fill('6000')
    await app.showPanel('People')
    await app.showPanel('Server')
    await expect.poll(() => quota.inputValue()).toBe('6000')
    const unit = panel().getByLabel('New conversations are deleted after, unit')
    expect(await unit.inputValue()).toBe('hours')
    await unit.selectOption('days')
    await save.click()
    await panel()
      .getByText(/^Saved\. New calls/)
      .waitFor()
    const { tenantSettings } = await client.request('{ tenantSettings { tokensPerDay ttlSeconds } }')
    expect(tenantSettings).toEqual({ tokensPerDay: 6_000, ttlSeconds: 172_800 })
    expect(await save.isDisabled()).toBe(true)
  })

  it('the retention that was saved is shown, without reading it again', async () => {
    await subTab('Retention')
    const content = panel().getByLabel('Content of turns')
    await content.selectOption('EPHEMERAL')
    const held = await holdRequests(page, 'query Retention')
    await panel().getByRole('button', { name: 'Save' }).click()
    await panel().getByText('Saved.', { exact: true }).waitFor()
    expect(await content.inputValue()).toBe('EPHEMERAL')
    await panel().getByRole('button', { name: 'Begin a hold' }).first().click()
    await panel().getByText('Held', { exact: true }).waitFor()
    await held.release()
    await app.close()
  })
})
