// What a person writes in the web app: drafts and their audiences, replies, edits that overlap with other work,
// mentions, Markdown, and parts of the page that are lost. Runs only with LONG=1.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { connect, type Client } from '../../../src/client/index.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { openApp, type App } from '../../support/web-app.ts'

describe.runIf(isLong && chromiumPath)('writing in the web app (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let origin: string
  let client: Client
  let id: string
  let other: string
  let ada: App
  let bob: App

  beforeAll(async () => {
    server = await startServer(embedded)
    ;({ origin } = new URL(server.url))
    browser = await startChromium()
    client = connect({ url: server.url, actor: 'ada', webSocket: null })
    const participants = ['ada', 'bob', 'cy'].map((actor) => ({ actor }))
    ;({ id } = await client.createConversation({ title: 'Garden', participants }))
    ;({ id: other } = await client.createConversation({ title: 'Orchard', participants }))
    ada = await openApp(browser, origin, { withLosses: true })
    bob = await openApp(browser, origin, { name: 'bob' })
    await Promise.all([ada.open(id), bob.open(id)])
  })
  afterAll(async () => {
    await client?.close()
    await browser?.close()
    await server?.stop()
  })
  const field = (app = ada) => app.page.getByLabel('Message', { exact: true })
  const hasFocus = () => field().evaluate((each) => each === document.activeElement)
  async function limitTo(name: string): Promise<void> {
    await ada.page.getByRole('button', { name: /^(To everybody|Only to)/ }).click()
    await ada.page.getByRole('checkbox', { name }).check()
    await ada.page.keyboard.press('Escape')
  }
  const limited = (to: string) => ada.page.getByRole('button', { name: `Only to ${to}` })

  it('keeps the audience of a draft in another conversation, and through a reload', async () => {
    await limitTo('bob')
    await field().fill('a secret')
    await ada.open(other)
    await ada.page.getByRole('button', { name: 'To everybody' }).waitFor()
    await ada.open(id)
    await limited('bob').waitFor()
    await ada.page.reload()
    await limited('bob').waitFor()
    expect(await field().inputValue()).toBe('a secret')
    await field().press('Enter')
    await bob.sees('a secret')
    const { nodes } = await client.conversation(id).turns({ last: 1 })
    expect(nodes[0]!.audience!.toSorted()).toEqual(['ada', 'bob'])
  })

  it('sends the reply to a note to oneself to nobody else', async () => {
    await limitTo('Only you')
    await limited('you').waitFor()
    await ada.say('note to myself')
    await ada.sees('note to myself')
    await limitTo('Everybody')
    await ada.choose('note to myself', 'Reply')
    await limited('you').waitFor()
    await ada.say('and a reply')
    await ada.sees('and a reply')
    const { nodes } = await client.conversation(id).turns({ last: 1 })
    expect(nodes[0]!.audience).toEqual(['ada'])
    await limitTo('Everybody')
  })

  it('gives the focus back to the field when a button is used up', async () => {
    await field().fill('by the button')
    await ada.page.getByRole('button', { name: 'Send' }).click()
    await expect.poll(hasFocus).toBe(true)
    await ada.choose('by the button', 'Reply')
    await ada.page.getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(hasFocus).toBe(true)
  })

  it('keeps a reply that was begun before an edit was saved', async () => {
    const { page } = ada
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('supersedeTurn')) await held
      await route.continue()
    })
    await ada.choose('by the button', 'Edit')
    await page.getByLabel('The new text of the message').fill('by the button, edited')
    await page.getByRole('button', { name: 'Save' }).click()
    await ada.choose('note to myself', 'Reply')
    await page.getByText('Reply to ada: note to myself').waitFor()
    release()
    await ada.sees('by the button, edited')
    expect(await page.getByText('Reply to ada: note to myself').count()).toBe(1)
    await page.unroute('**/graphql')
    await field().press('Escape')
    await limitTo('Everybody')
  })

  it('offers no edit of a message with a file', async () => {
    const url = 'https://example.org/plan.pdf'
    await client
      .conversation(id)
      .append({ parts: [{ text: 'the plan' }, { file: { url, mediaType: 'application/pdf' } }] })
    await ada.sees('the plan')
    await ada.page.locator('.turn').filter({ hasText: 'the plan' }).hover()
    const message = ada.page.locator('.turn').filter({ hasText: 'the plan' })
    await message.getByRole('button', { name: /^Actions for the message/ }).click()
    await ada.page.getByRole('menuitem', { name: 'Reply' }).waitFor()
    expect(await ada.page.getByRole('menuitem', { name: 'Edit' }).count()).toBe(0)
    await ada.page.keyboard.press('Escape')
  })

  it('selects the first name of each mention', async () => {
    await field().pressSequentially('@')
    await field().press('ArrowDown')
    await field().press('Enter')
    await field().pressSequentially('and @')
    await field().press('Enter')
    expect(await field().inputValue()).toBe('@cy and @bob ')
    await field().fill('')
  })

  it('resolves the links of a text that are defined in another block', async () => {
    await ada.say('See [the plan][1].')
    await client.conversation(id).append('See [the map][1].\n\n[1]: https://example.org/map')
    const link = ada.page.getByRole('link', { name: 'the map', exact: true })
    expect(await link.getAttribute('href')).toBe('https://example.org/map')
    await ada.sees('See [the plan][1].')
  })

  it('opens a conversation in a new tab with the modifier of the browser', async () => {
    const { page } = ada
    const opened = page.context().waitForEvent('page')
    await page.getByRole('link', { name: /Orchard/ }).click({ modifiers: ['Control'] })
    await (await opened).close()
    expect(page.url()).toContain(id)
  })

  it('refuses to overwrite a title that was changed while the dialog was open', async () => {
    const { page } = ada
    await page.getByRole('button', { name: 'Actions for the conversation' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await client.conversation(id).update({ title: 'Meadow' })
    await page.getByRole('heading', { name: 'Meadow' }).waitFor()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Title').fill('Field')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    expect((await client.conversation(id).read()).title).toBe('Meadow')
  })

  it('no longer shows that a person is writing who has left the conversation', async () => {
    await bob.writeUntil(ada.page.getByText('bob is writing'))
    await bob.open(other)
    await ada.page.getByText('bob is writing').waitFor({ state: 'detached' })
  })

  it('marks nothing as read behind a panel that covers the messages', async () => {
    const phone = await openApp(browser, origin, { name: 'cy', viewport: { width: 360, height: 740 } })
    const { page } = phone
    await page.clock.install()
    await page.goto(`${origin}/#/c/${other}`)
    await field(phone).waitFor()
    await page.goto(`${origin}/#/c/${other}?panel=participants`)
    await page.getByRole('heading', { name: 'People and agents' }).waitFor()
    const isMark = (body: string | null) => body?.includes('markRead(') ?? false
    const marks: (string | null)[] = []
    page.on('request', (request) => isMark(request.postData()) && marks.push(request.postData()))
    await client.conversation(other).append('while the panel is open')
    // The transcript, which is hidden, has the message.
    await page
      .locator('.transcript [role=status]', { hasText: 'while the panel is open' })
      .waitFor({ state: 'attached' })
    await page.clock.runFor(2_000)
    expect(marks).toEqual([])
    const marked = page.waitForRequest((request) => isMark(request.postData()))
    await page.getByRole('button', { name: 'Close the panel' }).click()
    await marked
    await phone.close()
  })

  it('shows the rest of the page when the file of a panel is gone', async () => {
    const { page } = ada
    await field().fill('not lost')
    await ada.showPanel('Journal')
    await page.getByRole('button', { name: /^Cut the/ }).waitFor()
    await page.route('**/web/*.js', (route) => route.abort())
    await ada.showPanel('Server')
    await page.getByText('This part of the page could not be loaded.').waitFor()
    expect(await field().inputValue()).toBe('not lost')
    await page.unroute('**/web/*.js')
    await ada.showPanel('Journal')
    await page.getByText('This part of the page could not be loaded.').waitFor({ state: 'detached' })
    await field().fill('')
    const isOfChunk = (problem: string) => problem.includes('dynamically imported')
    expect(ada.problems.filter((problem) => !isOfChunk(problem))).toEqual([])
    expect(bob.problems).toEqual([])
  })
})
