// Steps that close what was opened, in reverse order.

export type Cleanup = {
  add(step: () => unknown): void
  /** Runs the steps, each once. */
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
