// The loop of background workers: when it runs a step, how long it waits, and its log. The clock is fake.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sleep } from '../../../../../src/runtime/clock.ts'
import { startLoop, type Loop, type LoopWork } from '../../../../../src/domain/background/job/loop.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'

type Answer = boolean | Error | (() => Promise<boolean>)

describe('a worker loop', () => {
  const clock = fakeClock()
  const loops: Loop[] = []
  beforeEach(() => {
    // Makes the random backoff take its maximum.
    vi.spyOn(Math, 'random').mockReturnValue(0)
  })
  afterEach(async () => {
    await Promise.all(loops.splice(0).map((loop) => loop.stop()))
    vi.restoreAllMocks()
  })

  /**
   * Starts a loop whose steps return the given answers, then report that no work is left. `began`: the times at which
   * the steps began, in ms after the start.
   */
  function start(answers: Answer[], more: Partial<LoopWork> = {}) {
    const began: number[] = []
    const first = clock.Date.now()
    const log = { info: vi.fn(), warn: vi.fn() }
    const loop = startLoop(
      { clock, log },
      {
        async step() {
          began.push(clock.Date.now() - first)
          const answer = answers.shift() ?? false
          if (answer instanceof Error) throw answer
          return typeof answer === 'function' ? answer() : answer
        },
        gatherMs: 100,
        sweepMs: null,
        messages: { failing: 'it fails', recovered: 'it succeeds again' },
        details: { worker: 'w' },
        ...more,
      },
    )
    loops.push(loop)
    return { loop, log, began }
  }
  const { advance } = clock
  const stepOf = (ms: number, hasMore: boolean) => async () => {
    await sleep(clock, ms)
    return hasMore
  }

  it('begins with a step, and sleeps once no work is left', async () => {
    const idle = vi.fn()
    const { began } = start([], { idle })
    await advance(3_600_000)
    expect(began).toEqual([0])
    expect(idle).toHaveBeenCalledTimes(1)
  })

  it('runs one step for several nudges', async () => {
    const { loop, began } = start([])
    await advance(1_000)
    loop.nudge()
    await advance(60)
    loop.nudge()
    await advance(5_000)
    expect(began).toEqual([0, 1_100])
  })

  it('runs another step for a nudge that arrives during a step', async () => {
    const { loop, began } = start([stepOf(30, false)])
    await advance(10)
    loop.nudge()
    await advance(5_000)
    expect(began).toEqual([0, 130])
  })

  it('checks for work without a nudge at every sweep', async () => {
    const { began } = start([], { sweepMs: 10_000 })
    await advance(25_000)
    expect(began).toEqual([0, 10_100, 20_200])
  })

  it('pauses after a step for a quarter of its duration, at most 50 ms, regardless of nudges', async () => {
    const { loop, began } = start([stepOf(20, true), stepOf(700, true)])
    await advance(30)
    loop.nudge()
    await advance(5_000)
    expect(began).toEqual([0, 25, 775])
  })

  it('retries a failing step after 1, 2, 4 … seconds, at most 60, regardless of nudges', async () => {
    const { loop, began } = start(Array.from({ length: 9 }, () => new Error('no')))
    for (let n = 0; n < 240; n++) {
      loop.nudge()
      await advance(1_000)
    }
    expect(began.map((at) => at / 1_000)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183])
  })

  it('randomly shortens the retry delay by up to half', async () => {
    vi.mocked(Math.random).mockReturnValue(1)
    const { began } = start([new Error('no'), new Error('no')])
    await advance(5_000)
    expect(began).toEqual([0, 500, 1_500])
  })

  it('logs the first of several failures and the first success after them, then starts over', async () => {
    const [first, second] = [new Error('first'), new Error('second')]
    const { log, began } = start([first, new Error('again'), stepOf(10, true), second])
    await advance(60_000)
    expect(log.warn.mock.calls).toEqual([
      [{ worker: 'w', err: first }, 'it fails'],
      [{ worker: 'w', err: second }, 'it fails'],
    ])
    expect(log.info.mock.calls).toEqual([
      [{ worker: 'w' }, 'it succeeds again'],
      [{ worker: 'w' }, 'it succeeds again'],
    ])
    expect(began).toEqual([0, 1_000, 3_000, 3_012, 4_012])
  })

  it('releases its claims after a failure and when it stops', async () => {
    const release = vi.fn(async () => {})
    const { loop } = start([new Error('no')], { release })
    await advance(0)
    expect(release).toHaveBeenCalledTimes(1)
    await advance(1_000)
    await loop.stop()
    expect(release).toHaveBeenCalledTimes(2)
  })

  it('stops immediately while it sleeps, pauses or waits for a retry', async () => {
    for (const answers of [[], [stepOf(10, true)], [new Error('no')]]) {
      const { loop, began } = start(answers)
      await advance(10)
      await loop.stop()
      await advance(100_000)
      expect(began).toEqual([0])
    }
  })

  it('stops by aborting the running step, whose error is not logged', async () => {
    const { loop, log } = start([], {
      step: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    await advance(10)
    await loop.stop()
    expect(log.warn).not.toHaveBeenCalled()
  })

  it('ignores nudges after it has stopped', async () => {
    const { loop, began } = start([])
    await loop.stop()
    loop.nudge()
    await advance(10_000)
    expect(began).toEqual([0])
  })
})
