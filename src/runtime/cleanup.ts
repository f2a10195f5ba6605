// Collects the steps that close opened resources, and runs them in reverse order.

export type Cleanup = {
  add(step: () => unknown): void
  /** Runs the steps, the last one first, and forgets them: a further call runs only steps that were added since. */
  run(): Promise<void>
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
