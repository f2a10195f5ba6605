// The task queue of one feed. Tasks run one at a time, in the order in which they were added. A failed task is not
// retried, because the next 'check' reads the missed entries and texts. Only 'reach' is retried: a reader waits for it.

import type { ConversationMessage } from '../publisher.ts'

/** Resolves once the feed has emitted entry `seq`. */
type ReachTask = { type: 'reach'; seq: number; resolve(): void }

/** 'check' reads entries and texts whose bus messages may have been lost. */
export type FeedTask = ConversationMessage | { type: 'check' } | ReachTask

export type FeedTasks = {
  readonly stopped: boolean
  /** Queues a task. Does nothing once stopped. */
  add(task: FeedTask): void
  /** Starts to run tasks. Tasks added before this call wait for it. */
  start(): void
  /** Queues the 'reach' tasks that failed. */
  retry(): void
  /** Drops all waiting tasks, and resolves the 'reach' tasks among them. */
  stop(): void
}

export function createFeedTasks(
  handle: (task: FeedTask) => Promise<void>,
  onFailure: (error: unknown) => void,
): FeedTasks {
  const waiting: FeedTask[] = []
  const unreached: ReachTask[] = []
  let busy = true
  let stopped = false

  async function run(): Promise<void> {
    busy = true
    for (let task = waiting.shift(); task && !stopped; task = waiting.shift()) {
      try {
        await handle(task)
      } catch (error) {
        onFailure(error)
        if (task.type === 'reach') stopped ? task.resolve() : unreached.push(task)
      }
    }
    busy = false
  }

  function add(task: FeedTask): void {
    if (stopped) return
    waiting.push(task)
    if (!busy) void run()
  }

  return {
    get stopped() {
      return stopped
    },
    add,
    start: () => void run(),
    retry() {
      for (const task of unreached.splice(0)) add(task)
    },
    stop() {
      stopped = true
      for (const task of [...waiting, ...unreached]) if (task.type === 'reach') task.resolve()
    },
  }
}
