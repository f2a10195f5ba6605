// The loads of the panels: nothing of an earlier query, filter or failure is shown as if it belonged to the present
// one. Runs only with LONG=1.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { connect, type Client } from '../../../src/client/index.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { holdRequests, openApp, type App } from '../../support/web-app.ts'

/** More facts and people than a page. */
const [FACTS, PEOPLE] = [60, 25]

describe.runIf(isLong && chromiumPath)('the loads of the web app (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let client: Client
  let app: App
  let page: Page
  let id: string

  beforeAll(async () => {
    server = await startServer(embedded, { GRAPHIQL: '0' })
    browser = await startChromium()
    client = connect({ url: server.url, actor: 'ada', webSocket: null })
    const people = Array.from({ length: PEOPLE - 1 }, (_, n) => ({ actor: `guest-${n + 1}` }))
    ;({ id } = await client.createConversation({ title: 'Berths', participants: [{ actor: 'ada' }, ...people] }))
    const conversation = client.conversation(id)
    for (let n = 1; n <= 15; n++) await conversation.append(`The ship number ${n} asks for a berth.`)
    await conversation.append('The lighthouse was painted white.')
    await conversation.remember(
      Array.from({ length: FACTS }, (_, n) => ({ subject: `Ship ${n}`, predicate: 'lies at', object: `berth ${n}` })),
    )
    app = await openApp(browser, new URL(server.url).origin)
    ;({ page } = app)
  })
  afterAll(async () => {
    await client?.close()
    await browser?.close()
    await server?.stop()
  })
  const panel = () => page.locator('.panels')
  const subTab = (name: string) => panel().getByRole('tab', { name, exact: true }).click()

  it('does not offer GraphiQL if the server does not have it', async () => {
    expect(await page.getByRole('main').innerText()).toMatch(/GraphQL API that your own programs use\./)
    await app.open(id)
    await app.showPanel('Journal')
    await subTab('Copy as code')
    await panel().getByRole('list', { name: 'Calls, newest first' }).waitFor()
    expect(await page.getByRole('link', { name: /GraphiQL/ }).count()).toBe(0)
    expect(app.problems).toEqual([])
  })

  it('shows no messages of one provider as those of another', async () => {
    await app.showPanel('Context')
    await panel().getByText('As JSON for a provider').click()
    await panel().getByText('"role": "user"').first().waitFor()
    const held = await holdRequests(page, 'query RenderContext')
    await panel().getByRole('button', { name: 'Anthropic' }).click()
    await held.arrived
    expect(await panel().getByText('"role": "user"').count()).toBe(0)
    await held.release()
    await panel().getByText('"role": "user"').first().waitFor()
  })

  it('does not say that sources are gone when they could not be read', async () => {
    const held = await holdRequests(page, 'query Sources')
    const sections = panel().getByRole('list', { name: 'Sections' })
    await sections.locator('summary').filter({ hasText: /facts/i }).first().click()
    await held.fail()
    await panel().getByText('A source that could not be read').first().waitFor()
    expect(await panel().getByText('A source that is not visible any more').count()).toBe(0)
    await held.release()
    await panel().getByRole('button', { name: 'Try again' }).click()
    await panel()
      .getByText(/^Fact: Ship/)
      .first()
      .waitFor()
  })

  it('shows no hits of one query as those of another, and no failure of it either', async () => {
    await app.showPanel('Memory')
    const question = panel().getByLabel('Question or topic')
    const hits = panel().getByRole('list', { name: 'Hits, best first' })
    await question.fill('Which ship asks for a berth?')
    await hits.getByRole('listitem').first().waitFor()
    const further = await holdRequests(page, 'query Recall')
    await panel().getByRole('button', { name: 'Show more' }).click()
    await further.fail()
    await panel().getByRole('alert').waitFor()
    await further.release()
    const held = await holdRequests(page, 'query Recall')
    await question.fill('Who painted the lighthouse?')
    await held.arrived
    expect(await hits.count()).toBe(0)
    expect(await panel().getByRole('alert').count()).toBe(0)
    await held.release()
    await hits.getByText('lighthouse').first().waitFor()
    expect(await panel().getByRole('alert').count()).toBe(0)
  })

  it('begins another list with its first page', async () => {
    await subTab('Facts')
    const facts = panel().getByRole('list', { name: 'Facts, newest first' }).locator('> li')
    await expect.poll(() => facts.count()).toBe(50)
    await panel().getByRole('button', { name: 'Show more' }).click()
    await expect.poll(() => facts.count()).toBe(FACTS)
    await panel().getByLabel('Contains').fill('berth')
    await expect.poll(() => facts.count()).toBe(50)
    await panel().getByRole('button', { name: 'Show more' }).waitFor()
  })

  it('reads the profiles of the first people only', async () => {
    await subTab('Profiles')
    const people = panel().getByRole('list', { name: 'Profiles' }).locator('> li')
    await expect.poll(() => people.count()).toBe(20)
    await panel().getByRole('button', { name: 'Show more' }).click()
    await expect.poll(() => people.count()).toBe(PEOPLE)
    await app.close()
  })
})
