// A long conversation in the web app: jumps to old messages and back, old messages that change, links to messages that
// the person does not see, searches, and large messages. Runs only with LONG=1.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { connect, type Client, type Turn } from '../../../src/client/index.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { openApp, type App } from '../../support/web-app.ts'

describe.runIf(isLong && chromiumPath)('a long conversation in the web app (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let origin: string
  let ada: Client
  let bob: Client
  let id: string
  let turns: Turn[]
  let app: App

  beforeAll(async () => {
    server = await startServer(embedded)
    ;({ origin } = new URL(server.url))
    browser = await startChromium()
    ada = connect({ url: server.url, actor: 'ada', webSocket: null })
    bob = connect({ url: server.url, actor: 'bob', webSocket: null })
    ;({ id } = await ada.createConversation({
      title: 'Harbour',
      participants: [{ actor: 'ada' }, { actor: 'bob' }, { actor: 'cy' }],
    }))
    turns = []
    const texts = Array.from({ length: 260 }, (_, n) => (n === 40 ? 'The lighthouse is on fire' : `message ${n}`))
    for (const [n, content] of texts.entries()) {
      const audience = n === 30 ? ['cy'] : undefined
      turns.push(await bob.conversation(id).append({ content, audience }))
    }
    app = await openApp(browser, origin)
    await app.open(id)
    await app.sees('message 259')
  })
  afterAll(async () => {
    await Promise.all([ada?.close(), bob?.close()])
    await browser?.close()
    await server?.stop()
  })
  const exactly = (text: string) =>
    app.page.locator('.conversation .turn').filter({ hasText: new RegExp(`${text}(?!\\d)`) })
  const isOnScreen = (text: string) =>
    exactly(text).evaluate((element) => {
      const { top, bottom } = element.closest('.turns')!.getBoundingClientRect()
      const row = element.getBoundingClientRect()
      return row.top < bottom && row.bottom > top
    })
  const shows = async (text: string) => {
    await exactly(text).waitFor()
    await expect.poll(() => isOnScreen(text)).toBe(true)
  }
  const jump = (n: number) =>
    app.page.evaluate((hash) => (location.hash = hash), `#/c/${id}?turn=${turns[n]!.position}`)
  /** Answers operations that contain the text with an error. */
  const refuse = (text: string) =>
    app.page.route('**/graphql', (route) =>
      route.request().postData()?.includes(text)
        ? route.fulfill({ json: { errors: [{ message: 'Not now.', extensions: { code: 'FORBIDDEN' } }] } })
        : route.continue(),
    )

  it('jumps to an old message, and from there to a recent one', async () => {
    await jump(60)
    await shows('message 60')
    await jump(255)
    await shows('message 255')
    await shows('message 259')
  })

  it('shows changes of old messages: a pin, an edit, and an erasure', async () => {
    await jump(60)
    await shows('message 60')
    await app.choose('message 61', 'Pin')
    await exactly('message 61').getByText('Pinned').waitFor()
    await bob.conversation(id).edit(turns[62]!, 'another text')
    await exactly('another text').getByText('Edited').waitFor()
    await bob.eraseTurn(turns[59]!.id)
    await exactly('message 59').waitFor({ state: 'detached' })
    await app.sees('This message was erased.')
  })

  it('shows the newest messages when the person sends one, and moves the focus to the list by the button', async () => {
    await jump(100)
    await shows('message 100')
    await app.say('sent from far above')
    await shows('sent from far above')
    await jump(100)
    await shows('message 100')
    await app.page.getByRole('button', { name: 'Newest messages' }).click()
    await shows('sent from far above')
    expect(await app.page.evaluate(() => document.activeElement!.className)).toBe('turns')
  })

  it('shows the nearest message for a link to one that the person does not see', async () => {
    await jump(30)
    await app.page.getByText('You do not see the message of the link.').waitFor()
    await shows('message 31')
    await app.page.getByRole('button', { name: 'Dismiss' }).click()
    await app.page.getByText('You do not see the message of the link.').waitFor({ state: 'detached' })
  })

  it('shows a result of the search each time that it is chosen', async () => {
    const { page } = app
    await page.getByLabel('Search titles and what was said').fill('lighthouse')
    const result = page.getByRole('button', { name: /lighthouse is on fire/ })
    await result.click()
    await shows('The lighthouse is on fire')
    await page.getByRole('log', { name: 'Messages' }).press('End')
    await exactly('The lighthouse is on fire').waitFor({ state: 'detached' })
    await result.click()
    await shows('The lighthouse is on fire')
    await page.getByLabel('Search titles and what was said').fill('')
  })

  it('repeats a jump that failed, and then shows no error', async () => {
    const { page } = app
    await jump(255)
    await shows('message 255')
    await refuse('query Page(')
    await jump(130)
    await page.getByRole('alert').getByText('Not now.').waitFor()
    await page.unroute('**/graphql')
    await page.getByRole('button', { name: 'Try again' }).click()
    await shows('message 130')
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  it('opens a conversation again that could not be opened', async () => {
    const { page } = app
    await refuse('query Transcript(')
    await page.reload()
    await page.getByRole('alert').getByText('Not now.').waitFor()
    await page.unroute('**/graphql')
    await page.getByRole('alert').filter({ hasText: 'Not now.' }).getByRole('button', { name: 'Try again' }).click()
    await shows('message 130')
  })

  it('keeps the focused message while it is scrolled away', async () => {
    const { page } = app
    await jump(130)
    await shows('message 130')
    const list = page.getByRole('log', { name: 'Messages' })
    await exactly('message 130').focus()
    await list.evaluate((element) => element.scrollBy(0, -2_500))
    await exactly('message 100').waitFor()
    expect(await page.evaluate(() => document.activeElement!.textContent)).toContain('message 130')
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => page.evaluate(() => document.activeElement!.textContent)).toContain('message 131')
    await shows('message 131')
  })

  it('places the unread messages once they are loaded, and opens a conversation of large messages', async () => {
    const large = await ada.createConversation({ title: 'Large', participants: [{ actor: 'ada' }, { actor: 'bob' }] })
    const first = await bob.conversation(large.id).append('the first one')
    await ada.conversation(large.id).markRead(first.seq)
    for (let n = 0; n < 50; n++) await bob.conversation(large.id).append(`large ${n} ${'word '.repeat(20_000)}`)
    await app.open(large.id)
    await shows('large 49')
    expect(await app.page.getByText('New since you left').count()).toBe(0)
    const list = app.page.getByRole('log', { name: 'Messages' })
    await expect
      .poll(async () => {
        await list.evaluate((element) => element.scrollTo(0, 0))
        return app.page.getByText('the first one').count()
      })
      .toBe(1)
    await app.page.getByText('New since you left').waitFor()
    expect(app.problems).toEqual([])
  })
})
