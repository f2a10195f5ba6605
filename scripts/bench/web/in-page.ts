// Measures inside the page: `install` runs before the scripts of each page, and provides its functions as `bench`.

/** Frame times and delays in ms. */
export type Samples = { frames: number[]; longTasks: number; keys: number[] }
/** A page of older turns that was loaded: the oldest position in the list, and the ms since the previous page. */
export type LoadedPage = { oldest: number; ms: number }

export type InPage = {
  /** Time from the navigation until the newest turn was painted, ms. */
  opened: Promise<number>
  /** Starts to sample. */
  start(): void
  stop(): Samples
  /** Reads older turns by staying at the start of the list, until the position is loaded or the time is up. */
  loadOlder(position: number, limitMs: number): Promise<LoadedPage[]>
  /** Presses the key in the list, and returns the ms until the turn was painted. */
  jump(key: 'Home' | 'End', position: number): Promise<number>
}
declare global {
  var bench: InPage
}

/**
 * Runs in the page, so that it can use nothing outside of it.
 * @param newest the position of the newest turn, by the id of the conversation
 */
export function install(newest: Record<string, number>): void {
  const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve))
  /** Resolves after the next frame was painted. */
  const painted = async () => {
    await frame()
    await new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel()
      port1.addEventListener('message', resolve)
      port1.start()
      port2.postMessage(null)
    })
  }
  const isShown = (position: number) => {
    const list = document.querySelector('.conversation .turns')?.getBoundingClientRect()
    const row = document.querySelector(`.conversation [data-position="${position}"]`)?.getBoundingClientRect()
    return list !== undefined && row !== undefined && row.bottom > list.top && row.top < list.bottom
  }
  async function untilShown(position: number, limitMs = 30_000): Promise<number> {
    const end = performance.now() + limitMs
    do {
      await painted()
      if (isShown(position)) return performance.now()
    } while (performance.now() < end)
    throw new Error(`turn ${position} is not shown after ${limitMs} ms`)
  }
  const list = () => document.querySelector<HTMLElement>('.conversation .turns')!
  let samples: Samples = { frames: [], longTasks: 0, keys: [] }
  let last: number | null = null
  const sample = (now: number) => {
    if (last === null) return
    samples.frames.push(now - last)
    last = now
    requestAnimationFrame(sample)
  }
  const observer = new PerformanceObserver((entries) => {
    for (const { duration } of entries.getEntries()) samples.longTasks += duration
  })
  observer.observe({ entryTypes: ['longtask'] })
  addEventListener(
    'keydown',
    ({ timeStamp }) => void painted().then(() => samples.keys.push(performance.now() - timeStamp)),
    { capture: true },
  )
  const id = /^#\/c\/([^?]+)/.exec(location.hash)?.[1] ?? ''
  globalThis.bench = {
    opened: id in newest ? untilShown(newest[id]!) : new Promise(() => {}),
    start() {
      samples = { frames: [], longTasks: 0, keys: [] }
      requestAnimationFrame((now) => {
        last = now
        requestAnimationFrame(sample)
      })
    },
    stop() {
      last = null
      return samples
    },
    async loadOlder(position, limitMs) {
      const pages: LoadedPage[] = []
      const oldest = () => Number(document.querySelector<HTMLElement>('[data-index="0"] .turn')?.dataset.position)
      const end = performance.now() + limitMs
      let [shown, at] = [Infinity, performance.now()]
      while (shown > position && performance.now() < end) {
        list().scrollTop = 0
        await frame()
        const first = oldest()
        if (!(first < shown)) continue
        shown = first
        pages.push({ oldest: first, ms: performance.now() - at })
        at = performance.now()
      }
      return pages
    },
    async jump(key, position) {
      const begin = performance.now()
      list().dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
      return (await untilShown(position)) - begin
    },
  }
}
