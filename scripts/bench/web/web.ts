// `npm run bench -- web [--turns NUMBER] [--against DIRECTORY]`: the figures of the web app in Chromium without a
// window, with a conversation of 50,000 turns: sizes, opening, scrolling, and typing while two agents write.
// `--against` also measures another checkout, on the same database. Each checkout must be built: `npm run generate`
// builds it.

import { chromiumPath, startChromium } from '../../../test/support/chromium.ts'
import { note } from '../figures.ts'
import { startCheckout, type ServerProcess } from '../process.ts'
import { SERVER_QUIET_MS, settle, withDatabase, type Bench } from '../services.ts'
import { clientOf, conversationOf, type Filled } from './fill.ts'
import { measure } from './measure.ts'
import { sizes } from './sizes.ts'
import { tableOf, type Row } from './table.ts'

const TURNS = 50_000
const FEW_TURNS = 20

export type WebOptions = { turns?: number; against?: string }

const NOTES = [
  'Chromium without a window and without a graphics card draws with the processor, which it shares with the server and '
    + 'the agents: compare with the bases, which are measured in the same run.',
  'open: from the navigation, with a warm cache, until the newest turn is painted; the median of 7. The page of older '
    + 'turns includes the request. Frames: the time between two animation frames while the page scrolls by 2,400 px/s, '
    + '12,000 px in each direction, or for 10 s of typing. key to paint: from the press of a key until the next frame is painted.',
]

async function fill(server: ServerProcess, turns: number): Promise<Filled> {
  const client = clientOf(server, 'ada')
  try {
    return await conversationOf(client, turns)
  } finally {
    await client.close()
  }
}

export async function web({ services, progress }: Bench, options: WebOptions = {}): Promise<string> {
  if (!chromiumPath) throw new Error('there is no Chromium: set CHROMIUM_PATH')
  const checkouts: Record<string, string> = { ours: process.cwd() }
  if (options.against) checkouts.theirs = options.against
  return withDatabase(services.databaseUrl, async (url) => {
    const env = { DATABASE_URL: url, REDIS_URL: services.redisUrl, LOG_LEVEL: 'info' }
    const browser = await startChromium()
    const columns: Record<string, Row[]> = {}
    try {
      for (const [name, root] of Object.entries(checkouts)) {
        columns[name] = await sizes(root)
        const server = await startCheckout(root, env)
        try {
          // Each checkout gets its own conversations, because the measurement adds turns to them.
          const filled = { large: await fill(server, options.turns ?? TURNS), small: await fill(server, FEW_TURNS) }
          progress('waiting for the background work of the server')
          await settle(url, SERVER_QUIET_MS)
          const report = (message: string) => progress(`${name}: ${message}`)
          columns[name].push(...(await measure({ browser, server, ...filled, progress: report })))
        } finally {
          await server.stop()
        }
      }
    } finally {
      await browser.close()
    }
    return ['\n## The web app\n', ...tableOf(columns), '', ...NOTES.map(note)].join('\n')
  })
}
