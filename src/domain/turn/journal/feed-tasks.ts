// The task queue of one feed. Tasks run one at a time, in the order in which they were added. After a failure, only
// 'check' and 'deleted' tasks run until a check succeeds, so that messages cannot repeat failing reads without a pause.
// 'reach' tasks run after that check, because readers wait for them. All other tasks are dropped: the check reads the
// entries and texts that they announce.

import type { ConversationMessage } from '../../kernel/live/publisher.ts'

/** A task that calls `resolve` once the feed has emitted entry `seq` or has stopped. */
type ReachTask = { type: 'reach'; seq: number; resolve(): void }

/** A message from the bus, or a task of the process. 'check' reads entries and texts whose messages may be lost. */
export type FeedTask = ConversationMessage | { type: 'check' } | ReachTask

export type FeedTasks = {
  readonly stopped: boolean
  /** Whether the last task that ran failed. */
  readonly isFailing: boolean
  /** Queues a task. Does nothing after `stop`. */
  add(task: FeedTask): void
  /** Starts to run tasks, beginning with those that were added before. */
  start(): void
  /** Drops all waiting tasks, and resolves the 'reach' tasks among them. */
  stop(): void
}

export type FeedTaskEvents = {
  /** Called after each failure with the number of failures since the last success. It must cause a later 'check'. */
  onFailure(error: unknown, failures: number): void
  /** Called after the first success that follows a failure. */
  onRecovery(): void
}

export function createFeedTasks(handle: (task: FeedTask) => Promise<void>, events: FeedTaskEvents): FeedTasks {
  const waiting: FeedTask[] = []
  /** The 'reach' tasks that failed, or that wait until a check succeeds. */
  const unreached: ReachTask[] = []
  let busy = true
  let stopped = false
  let failures = 0

  async function runTask(task: FeedTask): Promise<void> {
    if (failures > 0 && task.type !== 'check' && task.type !== 'deleted') {
      if (task.type === 'reach') unreached.push(task)
      return
    }
    try {
      await handle(task)
      if (failures > 0) {
        failures = 0
        waiting.push(...unreached.splice(0))
        events.onRecovery()
      }
    } catch (error) {
      failures += 1
      if (task.type === 'reach') stopped ? task.resolve() : unreached.push(task)
      if (!stopped) events.onFailure(error, failures)
    }
  }

  async function run(): Promise<void> {
    busy = true
    for (let task = waiting.shift(); task && !stopped; task = waiting.shift()) await runTask(task)
    busy = false
  }

  return {
    get stopped() {
      return stopped
    },
    get isFailing() {
      return failures > 0
    },
    add(task) {
      if (stopped) return
      waiting.push(task)
      if (!busy) void run()
    },
    start: () => void run(),
    stop() {
      stopped = true
      for (const task of [...waiting, ...unreached]) if (task.type === 'reach') task.resolve()
    },
  }
}
