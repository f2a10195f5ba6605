// `npm run docs:web`: plays the sample conversation of the web app in Chromium, and writes the screenshots in docs/images
// that the documents show. Needs Chromium.

import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { embedded } from '../test/support/backend.ts'
import { startChromium } from '../test/support/chromium.ts'
import { startServer } from './demo/server.ts'

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url))
const SIZE = { width: 1_280, height: 760 }
/** Maximum time until an element is shown, ms. */
const PATIENCE_MS = 60_000

/** Stores the page as an image, without the caret, the pointer and the focus. */
async function store(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0)
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  await page.screenshot({ path: `${IMAGES}web-${name}.png`, animations: 'disabled', caret: 'hide' })
  console.log(`docs/images/web-${name}.png`)
}

async function play(page: Page, url: string): Promise<void> {
  const show = (panel: string) => page.getByRole('tab', { name: panel }).click()
  await page.goto(new URL('/', url).href)
  await page.getByLabel('Your name').fill('Zoë')
  await page.getByRole('button', { name: 'Enter' }).click()
  await page.getByRole('button', { name: 'Play a sample conversation' }).click()
  const approve = page.getByRole('button', { name: 'Approve', exact: true })
  await approve.waitFor()
  await page.getByText('needs an approval').waitFor()
  await store(page, 'conversation')
  await approve.click()
  await page.getByText(/^Done\. This is what the restaurant says/).waitFor()
  await show('View as')
  await page.getByRole('combobox', { name: 'View as' }).selectOption({ label: 'Researcher' })
  const view = page.getByRole('log', { name: 'Messages in the view of Researcher' })
  await view.press('Home')
  await page.getByRole('log', { name: 'Messages', exact: true }).press('Home')
  await page.getByText('Researcher does not see a message here').first().waitFor()
  await store(page, 'view-as')
  await show('Context')
  await page.getByRole('textbox', { name: 'Token budget, as a number' }).fill('500')
  await page.getByText('of 500 tokens').waitFor()
  await store(page, 'context')
  await show('Server')
  await show('Erasure')
  await page.getByLabel('Actor', { exact: true }).fill('ada')
  await page.getByRole('button', { name: 'Erase …' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('ada')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Erase/ })
    .click()
  await page.getByRole('button', { name: /erify/ }).first().click()
  await page.waitForLoadState('networkidle')
  await store(page, 'erasure')
}

mkdirSync(IMAGES, { recursive: true })
// The server signs receipts.
const server = await startServer(embedded, { INTEGRITY_KEY: 'a key of 32 characters for images' })
const browser = await startChromium()
try {
  const page = await browser.newPage({ viewport: SIZE })
  page.setDefaultTimeout(PATIENCE_MS)
  await play(page, server.url)
} finally {
  await browser.close()
  await server.stop()
}
