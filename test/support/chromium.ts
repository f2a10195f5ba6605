// Starts a headless Chromium for tests of pages: the binary at CHROMIUM_PATH, or at one of the usual paths.

import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/snap/bin/chromium']

/** Path of the binary; undefined if there is none. */
export const chromiumPath = [process.env.CHROMIUM_PATH, ...PATHS].find((path) => path && existsSync(path))

/**
 * Starts Chromium without its sandbox, which needs privileges that containers lack. It opens only pages of the tests.
 * Chromium creates sockets in TMPDIR, and their paths must be short, so TMPDIR is /tmp, not the tests' own directory.
 */
export const startChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox'], env: { ...process.env, TMPDIR: '/tmp' } })

/** Directory in which tests store screenshots; undefined for no screenshots. */
const { SCREENSHOTS } = process.env

/** Stores a screenshot of the page in SCREENSHOTS, if it is set. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!SCREENSHOTS) return
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) })
}
