// The tasks of one feed, handled one after the other in the order they came. A task that fails is not repeated: the next
// look finds what it missed. Only 'reach' is kept for a retry, since a reader waits for it.

import type { ConversationMessage } from '../publisher.ts'

/** Resolves once the feed is at entry `seq` or later. */
type ReachTask = { type: 'reach'; seq: number; resolve(): void }

/** 'look' reads everything the bus may have lost. */
export type FeedTask = ConversationMessage | { type: 'look' } | ReachTask

export type FeedTasks = {
  readonly stopped: boolean
  /** Queues a task; ignored once stopped. */
  add(task: FeedTask): void
  /** Begins with the tasks that wait. Tasks added before are kept until then. */
  start(): void
  /** Queues the 'reach' tasks that failed. */
  retry(): void
  /** Drops all tasks and resolves the 'reach' tasks among them. */
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
