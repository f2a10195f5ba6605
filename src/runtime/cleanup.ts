// Collects the steps that close opened resources, and runs them in reverse order.

import type { Logger } from 'pino'
import type { Clock } from './clock.ts'

export type Cleanup = {
  add(step: () => unknown): void
  /** Runs the steps, the last one first, and forgets them: a further call runs only steps that were added since. */
  run(): Promise<void>
}

/** How a process opens its resources: with its time and its log, and a cleanup step for each resource. */
export type Opening = {
  clock: Clock
  log: Logger
  /** Gets a step for each opened resource. */
  cleanup: Cleanup
}

export function createCleanup(): Cleanup {
  const steps: (() => unknown)[] = []
  return {
    add: (step) => void steps.push(step),
    async run() {
      for (const step of steps.splice(0).reverse()) await step()
    },
  }
}
