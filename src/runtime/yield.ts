// Lets requests and timers run during long loops, which would otherwise block the event loop. Each iteration of the
// event loop resumes only one of the waiting loops, so that ten loops delay an iteration no more than one loop does.

import { systemClock, type Clock } from './clock.ts'

/** Time for which a loop runs before it yields, ms. */
const SHARE_MS = 1

const waiting: (() => void)[] = []

/** Resumes the loop that has waited longest, then lets pending I/O run before the next one. */
function resumeNext(): void {
  waiting.shift()!()
  if (waiting.length > 0) setImmediate(resumeNext)
}

/** Resolves in a later iteration of the event loop, after pending I/O. Each iteration resolves only one call. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(resumeNext)
  })
}

/**
 * Returns a function that a loop calls and awaits after each item. It yields to the event loop if `SHARE_MS` have
 * passed since the loop started or was last resumed, and returns undefined otherwise.
 */
export function createYield(clock: Pick<Clock, 'performance'> = systemClock): () => Promise<void> | undefined {
  let startedAt = clock.performance.now()
  return () => {
    if (clock.performance.now() - startedAt < SHARE_MS) return undefined
    return yieldToEventLoop().then(() => {
      startedAt = clock.performance.now()
    })
  }
}

/** Runs a generator to its end without yielding to the event loop, and returns its result. */
export function runSteps<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Runs a generator to its end and returns its result. Yields to the event loop when `SHARE_MS` have passed. */
export async function runStepsYielding<T>(steps: Generator<void, T>): Promise<T> {
  const yieldIfDue = createYield()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await yieldIfDue()
  }
}
