// Two people and two agents in one conversation, each person in a browser of its own: writing, whispers, edits,
// versions, pins, erasure, removal and deletion. Runs only with LONG=1.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { connect, type Client } from '../../../src/client/index.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { openApp, type App } from '../../support/web-app.ts'

const agent = (actor: string) => ({
  actor,
  kind: 'AGENT' as const,
  respond: 'MENTIONED' as const,
  agent: { provider: 'echo', instructions: `{"echo": {"text": "Here is ${actor}, at your service.", "wordMs": 20}}` },
})

/** A picture of one pixel. */
const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

/** Its answer takes a minute. */
const heron = {
  ...agent('heron'),
  agent: {
    provider: 'echo',
    instructions: JSON.stringify({
      echo: { text: Array.from({ length: 600 }, (_, n) => `heron ${n} `).join(''), wordMs: 50 },
    }),
  },
}

describe.runIf(isLong && chromiumPath)('a conversation in the web app (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let client: Client
  let id: string
  let ada: App
  let bob: App

  beforeAll(async () => {
    server = await startServer(embedded)
    browser = await startChromium()
    client = connect({ url: server.url, actor: 'ada', webSocket: null })
    ;({ id } = await client.createConversation({
      title: 'Garden',
      visibility: 'MEMBERS',
      participants: [{ actor: 'ada', displayName: 'Ada' }, { actor: 'bob' }, agent('fern'), agent('moss'), heron],
    }))
    const { origin } = new URL(server.url)
    ada = await openApp(browser, origin, { name: 'ada' })
    bob = await openApp(browser, origin, { name: 'bob' })
    await Promise.all([ada.open(id), bob.open(id)])
  })
  afterAll(async () => {
    await client?.close()
    await browser?.close()
    await server?.stop()
  })
  const message = ({ page }: App, text: string) => page.locator('.conversation .turn').filter({ hasText: text })

  it('shows who is writing, and the message to everybody', async () => {
    await ada.writeUntil(bob.page.getByText('Ada is writing …'))
    await ada.say('Good morning')
    await bob.sees('Good morning')
    await bob.page.getByText('Ada is writing …').waitFor({ state: 'detached' })
  })

  it('uploads chosen and pasted files, and shows images to everybody', async () => {
    const [chooser] = await Promise.all([
      ada.page.waitForEvent('filechooser'),
      ada.page.getByRole('button', { name: 'Attach' }).click(),
    ])
    await chooser.setFiles({ name: 'dot.gif', mimeType: 'image/gif', buffer: Buffer.from(GIF, 'base64') })
    await ada.page.getByLabel('Message', { exact: true }).evaluate((field) => {
      const files = new DataTransfer()
      files.items.add(new File(['some notes'], 'notes.txt', { type: 'text/plain' }))
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: files, bubbles: true, cancelable: true }))
    })
    const list = ada.page.getByRole('list', { name: 'Files of the message' })
    await list.getByText('is being uploaded').first().waitFor({ state: 'detached' })
    await ada.say('Two files')
    for (const app of [ada, bob]) {
      const turn = message(app, 'Two files')
      await turn.getByRole('link', { name: 'notes.txt' }).waitFor()
      const image = turn.getByRole('img', { name: 'dot.gif' })
      await expect.poll(() => image.evaluate((node: HTMLImageElement) => node.naturalWidth)).toBe(1)
    }
    expect(await list.count()).toBe(0)
  })

  it('completes mentions, and shows the answers of both agents', async () => {
    const field = bob.page.getByLabel('Message', { exact: true })
    await field.pressSequentially('Hello @fe')
    await bob.page.getByRole('option', { name: /fern/ }).waitFor()
    await field.press('Tab')
    await field.pressSequentially('and @mo')
    await bob.page.getByRole('option', { name: /moss/ }).waitFor()
    await field.press('Enter')
    expect(await field.inputValue()).toBe('Hello @fern and @moss ')
    await field.press('Enter')
    for (const app of [ada, bob]) {
      await app.sees('Here is fern, at your service.')
      await app.sees('Here is moss, at your service.')
    }
  })

  it('stops an agent from the device of any participant', async () => {
    await bob.page.getByRole('button', { name: 'To everybody' }).waitFor()
    await bob.say('@heron, tell me everything')
    await bob.sees('heron 3 ')
    await ada.page.getByRole('button', { name: 'Stop heron' }).click()
    for (const app of [ada, bob]) await message(app, 'heron 3 ').getByText('Stopped').waitFor()
    await ada.page.getByRole('button', { name: 'Stop heron' }).waitFor({ state: 'detached' })
  })

  it('sends a whisper to those that were chosen only, also as a reply', async () => {
    const { page } = ada
    await page.getByRole('button', { name: 'To everybody' }).click()
    await page.getByRole('checkbox', { name: 'fern' }).check()
    await page.keyboard.press('Escape')
    await ada.say('A secret for fern')
    await ada.sees('A secret for fern')
    await message(ada, 'A secret for fern').getByText('Only ').waitFor()
    await page.getByRole('button', { name: /Only to fern/ }).click()
    await page.getByRole('checkbox', { name: 'Everybody' }).check()
    await page.keyboard.press('Escape')
    await ada.choose('A secret for fern', 'Reply')
    await page.getByRole('button', { name: /Only to fern/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /Only to fern/ }).click()
    await page.getByRole('checkbox', { name: 'Everybody' }).check()
    await ada.say('For all of you')
    await bob.sees('For all of you')
    expect((await bob.messages()).join()).not.toContain('secret')
  })

  it('edits an own message by keyboard, and keeps its versions', async () => {
    const field = ada.page.getByLabel('Message', { exact: true })
    await field.press('ArrowUp')
    const edited = ada.page.getByLabel('The new text of the message')
    await expect.poll(() => edited.inputValue()).toBe('For all of you')
    await edited.fill('For all of you, edited')
    await edited.press('Enter')
    await bob.sees('For all of you, edited')
    await message(bob, 'For all of you, edited').getByRole('button', { name: 'Edited' }).click()
    const dialog = bob.page.getByRole('dialog')
    await dialog.getByText('Version 1').waitFor()
    expect(await dialog.locator('.markdown').allInnerTexts()).toEqual(['For all of you, edited', 'For all of you'])
    await bob.page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })

  it('gives the draft back when an edit is cancelled', async () => {
    const field = ada.page.getByLabel('Message', { exact: true })
    await field.fill('not finished')
    await ada.choose('For all of you, edited', 'Edit')
    await ada.page.getByLabel('The new text of the message').fill('never mind')
    await ada.page.keyboard.press('Escape')
    expect(await field.inputValue()).toBe('not finished')
    await field.fill('')
  })

  it('focuses the first field of a dialog, and keeps it open when a selection ends beside it', async () => {
    const { page } = ada
    await page.getByRole('button', { name: 'Actions for the conversation' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    const title = page.getByRole('dialog').getByLabel('Title')
    await expect.poll(() => title.evaluate((field) => field === document.activeElement)).toBe(true)
    await title.hover()
    await page.mouse.down()
    await page.mouse.move(5, 5)
    await page.mouse.up()
    expect(await title.inputValue()).toBe('Garden')
    await page.mouse.click(5, 5)
    await title.waitFor({ state: 'detached' })
  })

  it('shows the composer and the selected tab on a phone, and closes the panel to show a turn', async () => {
    const { origin } = new URL(server.url)
    const phone = await openApp(browser, origin, { viewport: { width: 360, height: 740 } })
    const { page } = phone
    await page.goto(`${origin}/#/c/${id}?panel=operations`)
    const tab = page.getByRole('tab', { name: 'Server' })
    await tab.waitFor()
    const isWhole = (element: Element) => element.getBoundingClientRect().right <= innerWidth - 40
    await expect.poll(() => tab.evaluate(isWhole)).toBe(true)
    await page.getByRole('button', { name: 'Close the panel' }).click()
    const { height } = (await page.getByLabel('Message', { exact: true }).boundingBox())!
    expect(height).toBeGreaterThan(36)
    await page.goto(`${origin}/#/c/${id}?panel=memory`)
    await page.getByLabel('Question or topic').fill('morning')
    await page.getByRole('button', { name: 'Show in place' }).first().click()
    await message(phone, 'Good morning').waitFor()
    await phone.close()
  })

  it('pins and unpins a message', async () => {
    await bob.choose('Good morning', 'Pin')
    await message(ada, 'Good morning').getByText('Pinned').waitFor()
    await bob.choose('Good morning', 'Unpin')
    await message(ada, 'Good morning').getByText('Pinned').waitFor({ state: 'detached' })
  })

  it('erases a message after a question, and tells everybody', async () => {
    await ada.choose('Good morning', 'Erase')
    await ada.page.getByRole('button', { name: 'Erase permanently' }).click()
    await ada.page.getByText(/^Erased: 1 version/).waitFor()
    await ada.page.getByRole('button', { name: 'Close' }).last().click()
    await bob.sees('This message was erased.')
    expect((await bob.messages()).join()).not.toContain('Good morning')
  })

  it('keeps a draft while the page is reloaded', async () => {
    await bob.page.getByLabel('Message', { exact: true }).fill('not finished')
    await bob.page.reload()
    await bob.sees('For all of you, edited')
    expect(await bob.page.getByLabel('Message', { exact: true }).inputValue()).toBe('not finished')
    await bob.page.getByLabel('Message', { exact: true }).fill('')
  })

  it('counts the unread messages of the others, and shows where they begin', async () => {
    await bob.page.goto(`${new URL(server.url).origin}/#/`)
    await ada.say('While you were away')
    const item = bob.page.getByRole('link', { name: /Garden/ })
    await item.getByText('1 unread').waitFor()
    await item.click()
    await bob.page.getByText('New since you left').waitFor()
    await item.getByText('1 unread').waitFor({ state: 'detached' })
    await message(ada, 'While you were away').getByText('Read by bob').waitFor()
  })

  it('says so when the person is removed', async () => {
    await ada.showPanel('People')
    await ada.page.getByRole('button', { name: 'Actions for bob' }).click()
    await ada.page.getByRole('menuitem', { name: 'Remove' }).click()
    await ada.page.getByRole('button', { name: 'Remove', exact: true }).click()
    await bob.page.getByText('you were removed from it').waitFor()
    await bob.page.getByRole('link', { name: /Garden/ }).waitFor({ state: 'detached' })
  })

  it('says so when the conversation is deleted', async () => {
    await client.conversation(id).delete()
    await ada.page.getByText('This conversation was deleted.').waitFor()
    expect([ada.problems, bob.problems]).toEqual([[], []])
  })
})
