// The measurements in Chromium: opening a conversation, scrolling through it, and typing while agents write.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { format, median, type Progress } from '../figures.ts'
import type { ServerProcess } from '../process.ts'
import { AGENTS, clientOf, textOf, type Filled } from './fill.ts'
import { install, type Samples } from './in-page.ts'
import type { Row } from './table.ts'

const OPENINGS = 7
const JUMPS = 5
/** Maximum time in which older turns are loaded, ms. */
const LOAD_MS = 240_000
/** Time for which agents write, ms. */
const STREAM_MS = 10_000
/** The distance that is scrolled in each direction, px, and the speed, px/s. */
const [SCROLL_PX, SCROLL_SPEED] = [12_000, 2_400]
const KEY_PAUSE_MS = 110
/** Turns that each agent writes at once, and pieces of text of each per second. */
const [WRITERS, PIECES] = [2, 50]
/** The limits, ms. */
const LIMITS = { open: 300, frame: 20, key: 50 }

export type Subject = { browser: Browser; server: ServerProcess; large: Filled; small: Filled; progress: Progress }
type Sampled = Samples & { busy: number }

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN

/** Time that the main thread of the page has worked, ms. */
async function workedMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1_000
}

/** Samples the page during `act`. BENCH_PROFILE names a directory for a CPU profile of the page. */
async function during(page: Page, label: string, act: () => Promise<unknown>): Promise<Sampled> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const directory = process.env.BENCH_PROFILE
  if (directory) {
    await session.send('Profiler.enable')
    await session.send('Profiler.start')
  }
  await page.evaluate(() => bench.start())
  const [worked, begin] = [await workedMs(session), performance.now()]
  await act()
  const busy = ((await workedMs(session)) - worked) / (performance.now() - begin)
  const samples = await page.evaluate(() => bench.stop())
  if (directory) {
    const { profile } = await session.send('Profiler.stop')
    await writeFile(join(directory, `page-${label}.cpuprofile`), JSON.stringify(profile))
  }
  await session.detach()
  return { ...samples, busy: busy * 100 }
}

async function open(page: Page, { port }: ServerProcess, { id }: Filled): Promise<number> {
  await page.goto('about:blank')
  await page.goto(`http://127.0.0.1:${port}/#/c/${id}`)
  return page.evaluate(() => bench.opened)
}

async function opening(page: Page, { server, large, small, progress }: Subject): Promise<Row[]> {
  const [times, base]: [number[], number[]] = [[], []]
  // The first round fills the browser's cache.
  for (let round = 0; round <= OPENINGS; round++) {
    const [ours, theirs] = [await open(page, server, large), await open(page, server, small)]
    if (round === 0) continue
    times.push(ours)
    base.push(theirs)
  }
  progress(`open: ${times.map(format).join(', ')} ms`)
  const against = `the same with ${small.turns} turns`
  return [{ label: 'open', unit: 'ms', value: median(times), base: median(base), against, limit: LIMITS.open }]
}

/** Scrolls upwards and then downwards, by a small step in each frame. */
async function scroll(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const gesture = { x: 500, y: 400, speed: SCROLL_SPEED, gestureSourceType: 'mouse', preventFling: true } as const
  for (const yDistance of [SCROLL_PX, -SCROLL_PX]) {
    await session.send('Input.synthesizeScrollGesture', { ...gesture, yDistance })
  }
  await session.detach()
}

const late = (frames: readonly number[]) => (frames.filter((ms) => ms > LIMITS.frame).length / frames.length) * 100

function frameRows(label: string, ours: Sampled, base: Sampled, against: string): Row[] {
  const row = (name: string, unit: string, of: (sampled: Sampled) => number, limit?: number): Row => ({
    label: `${label}: ${name}`,
    unit,
    value: of(ours),
    base: of(base),
    against,
    limit,
  })
  return [
    row('frame, median', 'ms', ({ frames }) => median(frames)),
    row('frame, 95 %', 'ms', ({ frames }) => percentile(frames, 0.95), LIMITS.frame),
    row(`frames above ${LIMITS.frame} ms`, '%', ({ frames }) => late(frames)),
    row('main thread busy', '%', ({ busy }) => busy),
    row('long tasks', 'ms', ({ longTasks }) => longTasks),
  ]
}

/** Loads all turns, scrolls, and jumps. Leaves the list at its end. */
async function scrolling(page: Page, still: Page, { large, progress }: Subject): Promise<Row[]> {
  const { turns, oldest, newest } = large
  const pages = await page.evaluate(([position, limit]) => bench.loadOlder(position!, limit!), [oldest, LOAD_MS])
  const tenth = Math.ceil(pages.length / 10)
  const times = pages.map(({ ms }) => ms)
  const first = pages.at(-1)!.oldest
  // A few positions belong to other entries of the journal.
  const loaded = Math.min(turns, newest - first + 1)
  progress(`${format(loaded)} turns are loaded`)
  const pageRow = {
    label: `load a page of older turns, of ${format(loaded)}`,
    unit: 'ms',
    value: median(times.slice(-tenth)),
    base: median(times.slice(1, tenth + 1)),
    against: 'the first tenth of the pages; value: the last tenth',
  }
  // Where the list has turns on both sides.
  await page.evaluate(() => {
    const list = document.querySelector('.conversation .turns')!
    list.scrollTop = list.scrollHeight / 2
  })
  await sleep(1_000)
  await still.bringToFront()
  const base = await during(still, 'still', () => scroll(still))
  await page.bringToFront()
  const ours = await during(page, 'scroll', () => scroll(page))
  const jumps: Record<'Home' | 'End', number[]> = { Home: [], End: [] }
  for (let round = 0; round < JUMPS; round++) {
    for (const [key, position] of [
      ['Home', first],
      ['End', newest],
    ] as const) {
      jumps[key].push(await page.evaluate(([k, p]) => bench.jump(k, p), [key, position] as const))
      await sleep(300)
    }
  }
  return [
    pageRow,
    ...frameRows('scroll', ours, base, 'a page of plain text'),
    { label: 'jump to the start', unit: 'ms', value: median(jumps.Home) },
    { label: 'jump to the end', unit: 'ms', value: median(jumps.End) },
  ]
}

/** Yields short pieces of text at the rate PIECES. */
async function* pieces() {
  const begin = performance.now()
  for (let count = 0; performance.now() - begin < STREAM_MS + 1_000; count++) {
    await sleep(Math.max(0, begin + (count * 1_000) / PIECES - performance.now()))
    yield count % 80 === 79 ? 'period.\n\n' : `word${count} `
  }
}

async function type(page: Page): Promise<void> {
  for (const begin = performance.now(); performance.now() - begin < STREAM_MS;) {
    await page.keyboard.press('abcdefgh '.charAt(Math.floor(Math.random() * 9)))
    await sleep(KEY_PAUSE_MS)
  }
}

/** Types while two agents write. The list is at its end. */
async function streaming(page: Page, { server, large }: Subject): Promise<Row[]> {
  await page.getByLabel('Message', { exact: true }).click()
  const idle = await during(page, 'idle', () => type(page))
  let deltas = 0
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.webSocketFrameReceived', ({ response: { payloadData } }) => {
    if (payloadData.includes('"TurnDelta"')) deltas += 1
  })
  const clients = AGENTS.flatMap((agent) => Array<string>(WRITERS).fill(agent)).map((agent) => clientOf(server, agent))
  const writing = Promise.all(clients.map((client) => client.conversation(large.id).write(pieces())))
  await sleep(500)
  const before = deltas
  const ours = await during(page, 'stream', () => type(page))
  const rate = ((deltas - before) * 1_000) / STREAM_MS
  await writing
  await Promise.all([session.detach(), ...clients.map((client) => client.close())])
  const against = 'the same page without streams'
  const key = (label: string, of: (keys: number[]) => number, limit?: number): Row => ({
    label: `stream: key to paint, ${label}`,
    unit: 'ms',
    value: of(ours.keys),
    base: of(idle.keys),
    against,
    limit,
  })
  return [
    {
      label: 'stream: deltas that the page receives',
      unit: '/s',
      value: rate,
      base: clients.length * PIECES,
      against: 'written',
    },
    ...frameRows('stream', ours, idle, against),
    key('median', median),
    key('95 %', (keys) => percentile(keys, 0.95), LIMITS.key),
  ]
}

/** A page of paragraphs, higher than the distance that is scrolled. */
const plainText = () => Array.from({ length: 600 }, () => `<p>${textOf()}</p>`).join('')

async function pageOf(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  page.on('pageerror', (error) => console.error(`page: ${error.message}`))
  return page
}

/** Measures the app of a server. */
export async function measure(subject: Subject): Promise<Row[]> {
  const { browser, large, small } = subject
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } })
  await context.addInitScript(() => {
    if (location.protocol === 'http:') localStorage.setItem('colloquy.name', 'ada')
  })
  await context.addInitScript(install, { [large.id]: large.newest, [small.id]: small.newest })
  try {
    const page = await pageOf(context)
    const rows = await opening(page, subject)
    await open(page, subject.server, large)
    const still = await pageOf(context)
    await still.setContent(plainText())
    await still.evaluate(() => scrollTo(0, document.body.scrollHeight))
    await page.bringToFront()
    return [...rows, ...(await scrolling(page, still, subject)), ...(await streaming(page, subject))]
  } finally {
    await context.close()
  }
}
