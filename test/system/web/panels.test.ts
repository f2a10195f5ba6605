// The panels of the web app show and change: the next context and a comparison, recall with a jump to an old turn,
// facts and summaries, the journal through a cut connection, and the views of operators. Runs only with LONG=1.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { connect, type Client } from '../../../src/client/index.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { openApp, type App } from '../../support/web-app.ts'

/** Number of turns between the turn that is recalled and the newest one: more than two pages. */
const TURNS = 130
const RECALLED = 'The spare key of the harbour office hangs behind the barometer.'

describe.runIf(isLong && chromiumPath)('the panels of the web app (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let client: Client
  let app: App
  let id: string

  beforeAll(async () => {
    server = await startServer(embedded, { INTEGRITY_KEY: 'a key of at least 32 characters here' })
    browser = await startChromium()
    client = connect({ url: server.url, actor: 'ada', webSocket: null })
    ;({ id } = await client.createConversation({
      title: 'Harbour',
      participants: [
        { actor: 'ada', displayName: 'Ada' },
        { actor: 'bob' },
        { actor: 'fern', kind: 'AGENT', respond: 'MENTIONED', agent: { provider: 'echo' } },
      ],
    }))
    const conversation = client.conversation(id)
    await conversation.append(RECALLED)
    for (let n = 1; n <= TURNS; n++) await conversation.append(`Ship number ${n} left the quay in good weather.`)
    app = await openApp(browser, new URL(server.url).origin)
    await app.open(id)
  })
  afterAll(async () => {
    await client?.close()
    await browser?.close()
    await server?.stop()
  })
  const panel = () => app.page.locator('.panels')
  const subTab = (name: string) => panel().getByRole('tab', { name, exact: true }).click()

  it('shows the next context of an agent at a budget, what was left out, and what another budget changes', async () => {
    await app.showPanel('Context')
    const budget = panel().getByRole('textbox', { name: 'Token budget, as a number' })
    await budget.fill('600')
    await panel().getByText('of 600 tokens').waitFor()
    await panel().getByText('some sources did not fit').waitFor()
    await panel().getByRole('button', { name: 'Compare with this one' }).click()
    await budget.fill('9000')
    await panel().getByText('of 9,000 tokens').waitFor()
    await panel().getByText('every source is included or summarised').waitFor()
    await panel()
      .getByText(/^Gained/)
      .first()
      .waitFor()
    await panel()
      .getByRole('img', { name: /^Before: \d+ of 600 tokens$/ })
      .waitFor()
    await panel().getByText('As JSON for a provider').click()
    await panel().getByText('"role": "user"').first().waitFor()
    await budget.fill('1')
    await panel()
      .getByRole('button', { name: /^Set the budget to/ })
      .click()
    await panel()
      .getByText(/of [1-9][\d,]* tokens/)
      .waitFor()
    await app.say('One more ship')
    await panel()
      .getByText(/newer entr/)
      .waitFor()
  })

  it('recalls a turn, shows it in its place among the old turns, and returns to the newest ones', async () => {
    await app.showPanel('Memory')
    await panel().getByLabel('Question or topic').fill('Where is the spare key of the harbour office?')
    const [hit] = [panel().getByRole('list', { name: 'Hits, best first' }).getByRole('listitem').first()]
    await hit.getByText('barometer').waitFor()
    expect(await app.page.getByRole('log', { name: 'Messages' }).innerText()).not.toContain('barometer')
    await hit.getByText('Show in place').click()
    await app.sees(RECALLED)
    await app.sees('Ship number 3 ')
    const log = app.page.getByRole('log', { name: 'Messages' })
    // Newer turns are read while the person scrolls, until they meet the newest ones. A busy machine does not show each page.
    await expect
      .poll(async () => {
        await log.press('PageDown')
        const shown = [...(await log.innerText()).matchAll(/Ship number (\d+) /g)].map(([, n]) => Number(n))
        return Math.max(...shown)
      })
      .toBeGreaterThanOrEqual(80)
    await app.page.getByRole('button', { name: 'Newest messages' }).click()
    await app.sees('One more ship')
  })

  it('records a fact, retracts it with a reason, and keeps its history', async () => {
    await subTab('Facts')
    await panel().getByRole('button', { name: 'Record a fact' }).click()
    const dialog = app.page.getByRole('dialog')
    await dialog.getByLabel('Subject').fill('Ada')
    await dialog.getByLabel('Predicate').fill('lives in')
    await dialog.getByLabel('Object').fill('Oslo')
    await dialog.getByRole('button', { name: 'Record', exact: true }).click()
    await panel().getByText('Recorded: Ada lives in Oslo.').waitFor()
    const facts = panel().getByRole('list', { name: 'Facts, newest first' })
    await facts.getByText('Oslo').first().waitFor()
    await facts.getByRole('button', { name: 'Change: Ada lives in Oslo' }).click()
    await app.page.getByRole('menuitem', { name: /Retract/ }).click()
    await dialog.getByLabel('Reason').fill('She has moved')
    await dialog.getByRole('button', { name: 'Retract', exact: true }).click()
    await panel().getByText('Retracted: Ada lives in Oslo.').waitFor()
    await panel().getByLabel('Show').selectOption('history')
    await panel().getByText('She has moved').first().waitFor()
  })

  it('summarises the conversation, and says what the summary covers', async () => {
    await subTab('Summaries')
    await panel().getByRole('button', { name: 'Summarise all turns' }).click()
    await panel()
      .getByText(/^Turns \d+ to \d+ are summarised in/)
      .waitFor()
    // The server may have summarised the oldest turns before.
    const { lastSeq } = await client.conversation(id).read()
    const newest = async () => (await client.conversation(id).summaries()).nodes.at(-1)
    await expect.poll(async () => (await newest())?.toPosition).toBeGreaterThan(lastSeq - 20)
    const { toPosition } = (await newest())!
    await panel().getByRole('list', { name: 'Summaries, oldest first' }).getByText(`turn ${toPosition}`).waitFor()
  })

  it('shows the journal, and resumes after a cut without a loss', async () => {
    await app.showPanel('Journal')
    const list = panel().getByRole('list', { name: 'Events, newest last' })
    await panel().getByText('Live', { exact: true }).waitFor()
    const resumptions = list.getByText(/Resumed after/)
    // On a machine that is slow just then, the turn may be appended only after the cut has ended.
    await expect
      .poll(async () => {
        const before = await resumptions.count()
        await panel()
          .getByRole('button', { name: /^Cut the connection/ })
          .click()
        await panel().getByText('Connection lost', { exact: true }).waitFor()
        const { seq } = await client.conversation(id).append('Written while the page was cut off')
        await resumptions.nth(before).waitFor()
        return (await resumptions.nth(before).innerText()).includes(
          `Entry ${seq} arrived meanwhile; nothing is missing.`,
        )
      })
      .toBe(true)
    await list
      .getByText(/Connected again/)
      .first()
      .waitFor()
    await list.getByText('Written while the page was cut off').first().waitFor()
    await panel()
      .getByText(/in order, each once/)
      .waitFor()
    await app.sees('Written while the page was cut off')
    await panel().getByRole('button', { name: 'Compare with a second reading' }).click()
    await panel()
      .getByText(/^A second reading delivered the same .* nothing was lost\.$/)
      .waitFor()
  })

  it('keeps the place in the events while the other tab is shown', async () => {
    const list = panel().getByRole('list', { name: 'Events, newest last' })
    const top = () => list.evaluate((element) => element.scrollTop)
    await list.press('Home')
    await expect.poll(top).toBe(0)
    await panel().getByRole('button', { name: 'Newest ↓' }).waitFor()
    await subTab('Copy as code')
    await client.conversation(id).append('Written while the events are hidden')
    await panel().getByText('Written while the events are hidden').waitFor({ state: 'attached' })
    await subTab('Events')
    await panel().getByRole('button', { name: 'Newest ↓' }).waitFor()
    expect(await top()).toBe(0)
    await panel().getByRole('button', { name: 'Newest ↓' }).click()
    await subTab('Copy as code')
    await client.conversation(id).append('Written at the end')
    await panel().getByText('Written at the end').waitFor({ state: 'attached' })
    await subTab('Events')
    const isAtEnd = (element: Element) => element.scrollHeight - element.scrollTop - element.clientHeight < 32
    await expect.poll(() => list.evaluate(isAtEnd)).toBe(true)
  })

  it('shows the last calls as code', async () => {
    await app.say('Show me the code')
    await app.sees('Show me the code')
    await subTab('Copy as code')
    const calls = panel().getByRole('list', { name: 'Calls, newest first' })
    await calls
      .getByRole('button', { name: /^AppendTurn/ })
      .first()
      .click()
    await panel()
      .getByRole('tabpanel', { name: 'typescript' })
      .getByText(/\.append\(.*Show me the code/s)
      .waitFor()
    await subTab('curl')
    await panel()
      .getByText(/x-actor: ada/)
      .first()
      .waitFor()
  })

  it('creates a key, whose secret is shown once', async () => {
    await app.showPanel('Server')
    await subTab('Keys')
    await panel().getByRole('button', { name: 'Create a key' }).click()
    const dialog = app.page.getByRole('dialog')
    await dialog.getByLabel('Name, for administrators').fill('reporting')
    await dialog.getByLabel('Actor that it authenticates').fill('bob')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog.getByText(/^colloquy_/).waitFor()
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await panel().getByRole('list', { name: 'Keys, newest first' }).getByText('reporting').waitFor()
    expect(await app.page.content()).not.toMatch(/colloquy_\w{20}/)
    const { apiKeys } = await client.request('{ apiKeys(first: 5) { nodes { name actor } } }')
    expect(apiKeys.nodes).toEqual([{ name: 'reporting', actor: 'bob' }])
  })

  it('verifies the audit log', async () => {
    await subTab('Audit log')
    await panel().getByRole('button', { name: 'Verify the log' }).click()
    await panel()
      .getByText(/^The log is intact up to its newest line/)
      .waitFor()
    expect(app.problems.filter((problem) => !/WebSocket/.test(problem))).toEqual([])
  })
})
