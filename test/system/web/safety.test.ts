// Scripts in everything that a user can write are shown as text: in messages, names, titles, files, tool results,
// citations and facts. Runs only with LONG=1.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { connect, type Client } from '../../../src/client/index.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { openApp, showViews } from '../../support/web-app.ts'

/** Fixtures that run a script if they are interpreted. Each would open a dialog, or request another server. */
const HTML = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(2)>',
  '<svg onload=alert(3)><script>alert(4)</script></svg>',
  '<iframe srcdoc="<script>alert(5)</script>"></iframe>',
  '<a href="javascript:alert(6)">click</a>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(7)&gt;">',
  '<form action="https://example.org"><button>send</button></form>',
  '<style>@import "https://example.org/x.css"</style>',
]
const MARKDOWN = [
  '[link](javascript:alert(10))',
  '[link](JaVaScRiPt:alert(11) "title")',
  '[link](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '![image](https://example.org/track.png)',
  '![image](x"onerror="alert(12))',
  '<https://example.org/" onclick="alert(13)>',
  '```"><script>alert(14)</script>\ncode\n```',
  '[ref]: javascript:alert(15)\n\n[ref]',
  '| <img src=x onerror=alert(16)> |\n|---|\n| <b onclick=alert(17)>x</b> |',
]

describe.runIf(isLong && chromiumPath)('the web app and hostile content (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let client: Client
  let id: string

  beforeAll(async () => {
    server = await startServer(embedded)
    browser = await startChromium()
    client = connect({ url: server.url, actor: 'mallory', webSocket: null })
    const title = HTML[1]!
    const hostile = { actor: 'mallory', displayName: HTML[2]! }
    ;({ id } = await client.createConversation({ title, participants: [hostile, { actor: 'ada' }] }))
    const conversation = client.conversation(id)
    for (const content of [...HTML, ...MARKDOWN]) await conversation.append(content)
    await conversation.append({
      role: 'ASSISTANT',
      parts: [
        { text: HTML[1]! },
        { reasoning: { reasoning: HTML[0]! } },
        { toolCall: { callId: 'call', name: 'look_up', arguments: { html: HTML[1] } } },
        { file: { url: 'https://example.org/file', mediaType: 'image/png', fileName: HTML[2], caption: HTML[1] } },
        { data: { html: HTML[3] } },
      ],
      citations: [{ documentId: HTML[4]!, documentName: HTML[5], chunk: HTML[1] }],
    })
    await conversation.append({
      role: 'TOOL',
      parts: [{ toolResult: { callId: 'call', name: 'look_up', result: { html: HTML[2] } } }],
    })
    await conversation.remember({ subject: HTML[1]!, predicate: HTML[0]!, object: HTML[2]! })
    await conversation.summarize()
    const input = { name: HTML[1], actor: HTML[2], kind: 'AGENT', rights: ['READ'] }
    await client.request('mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename } }', {
      input,
    })
  })
  afterAll(async () => {
    await client?.close()
    await browser?.close()
    await server?.stop()
  })

  /** Returns what a page with interpreted content would have: elements, handlers, and links of other protocols. */
  const interpretedIn = (page: Page) =>
    page.evaluate(() => ({
      elements: document.querySelectorAll('#root :is(script, img, svg, iframe, style, link, object, embed, math, base)')
        .length,
      handlers: [...document.querySelectorAll('#root *')].flatMap(({ attributes }) =>
        [...attributes].filter(({ name }) => name.startsWith('on')).map(({ name }) => name),
      ),
      links: [...document.querySelectorAll<HTMLAnchorElement>('#root a[href]')]
        .map(({ href }) => new URL(href).protocol)
        .filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol)),
    }))
  const NOTHING = { elements: 0, handlers: [], links: [] }

  it('is shown as text, and requests nothing', async () => {
    const app = await openApp(browser, new URL(server.url).origin)
    await app.open(id)
    await app.sees('Result of look_up')
    const { page } = app
    const log = page.getByRole('log', { name: 'Messages' })
    // Renders all rows, page by page.
    for (const key of ['End', 'PageUp', 'PageUp', 'PageUp', 'Home']) {
      await log.press(key)
      await log.evaluate((list) => list.querySelectorAll('details').forEach((fold) => (fold.open = true)))
      expect(await interpretedIn(page), key).toEqual(NOTHING)
    }
    const seen: string[] = []
    await showViews(app, 'Which <script> calls alert?', async (view) => {
      expect(await interpretedIn(page), view).toEqual(NOTHING)
      if ((await page.locator('.panel[role=tabpanel]').innerText()).includes('onerror=alert(2)')) seen.push(view)
    })
    // The views of the conversation show the content as it was written.
    expect(seen).toEqual(
      expect.arrayContaining(['View as', 'Context', 'Recall', 'Facts', 'Summaries', 'Events', 'Keys']),
    )
    expect(await page.title()).toBe('Colloquy')
    await app.close()
  })
})
