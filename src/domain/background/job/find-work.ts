// Finds due work and queues jobs for it. Checks a conversation shortly after entries are appended to its journal. A
// sweep every SWEEP_MS checks all conversations and users, in case a notification was lost. A job that several
// processes send is queued once.

import { every } from '../../../runtime/clock.ts'
import type { JobQueue, Subject } from '../../../store/jobs/job-queue.ts'
import type { Platform } from '../../kernel/platform.ts'
import { startLoop, type Loop } from './loop.ts'
import { QUEUES, startWorker, type Work } from './worker.ts'

/** Counts the turns of users, because work about users is due after a number of turns. */
type Counter = {
  /** Returns at most `limit` ids of conversations with uncounted turns, in ascending order, after the given id. */
  uncounted(after: string, limit: number): Promise<string[]>
  /**
   * Counts the turns of the conversations. `users` are the authors of these turns and the users whose facts changed.
   * `busy` are the ids of conversations that another transaction has locked, whose turns were not counted.
   */
  count(conversationIds: readonly string[]): Promise<{ users: Subject[]; busy: string[] }>
}

export type WorkKinds = {
  conversationWork: readonly Work<string>[]
  userWork: readonly Work<Subject>[]
  /** Null if no work is about users. */
  counter: Counter | null
}

/** Milliseconds for which conversations with new journal entries are collected before they are checked. @internal */
export const GATHER_MS = 250
/** Milliseconds between sweeps. */
const SWEEP_MS = 60_000
/** Maximum number of conversations or users per statement. */
const BATCH = 500

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += BATCH) yield all.slice(from, from + BATCH)
}

/** Creates the sets of conversations and users that wait to be checked. */
function createUnchecked() {
  const conversationIds = new Set<string>()
  const users = new Map<string, Subject>()
  return {
    addConversations(ids: Iterable<string>) {
      for (const id of ids) conversationIds.add(id)
    },
    addUsers(subjects: Iterable<Subject>) {
      for (const user of subjects) users.set(JSON.stringify(user), user)
    },
    takeConversations(): string[] {
      const taken = [...conversationIds]
      conversationIds.clear()
      return taken
    },
    takeUsers(): Subject[] {
      const taken = [...users.values()]
      users.clear()
      return taken
    },
    hasConversations: () => conversationIds.size > 0,
  }
}
type Unchecked = ReturnType<typeof createUnchecked>

/**
 * Queues due work of the unchecked conversations and users. After a failure, the next sweep queues the remaining work.
 */
async function queueDueAmong(jobs: JobQueue, kinds: WorkKinds, unchecked: Unchecked): Promise<void> {
  for (const batch of batches(unchecked.takeConversations())) {
    for (const { name, dueAmong } of kinds.conversationWork) await jobs.send(QUEUES[name], await dueAmong(batch))
    const counted = await kinds.counter?.count(batch)
    unchecked.addUsers(counted?.users ?? [])
    unchecked.addConversations(counted?.busy ?? [])
  }
  for (const batch of batches(unchecked.takeUsers())) {
    for (const { name, dueAmong } of kinds.userWork) await jobs.send(QUEUES[name], await dueAmong(batch))
  }
}

/** Reads and handles pages of BATCH items in order, until a page is not full or the signal is aborted. */
async function forEachPage<T>(
  read: (after: T | null) => Promise<T[]>,
  handle: (page: T[]) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  for (let after: T | null = null; !signal.aborted;) {
    const page: T[] = await read(after)
    await handle(page)
    if (page.length < BATCH) return
    after = page.at(-1)!
  }
}

/** Counts uncounted turns and queues all due work. */
async function queueAllDue(jobs: JobQueue, { conversationWork, userWork, counter }: WorkKinds, signal: AbortSignal) {
  const queueDue = ({ name, due }: Pick<Work<never>, 'name' | 'due'>) =>
    forEachPage<Subject>(
      (after) => due(after, BATCH),
      (subjects) => jobs.send(QUEUES[name], subjects),
      signal,
    )
  for (const work of conversationWork) await queueDue(work)
  if (counter) await forEachPage<string>((after) => counter.uncounted(after ?? '', BATCH), counter.count, signal)
  for (const work of userWork) await queueDue(work)
}

/** Starts to find work and to run jobs. The returned function stops both and resolves when running jobs have ended. */
export async function startWork(deps: Platform, kinds: WorkKinds): Promise<() => Promise<void>> {
  const { jobs, log } = deps
  const unchecked = createUnchecked()
  const stopping = new AbortController()
  const { signal } = stopping
  /** The loop that checks; null until the workers have started, because jobs can only be queued after that. */
  let checking: Loop | null = null
  let stopSweeping = async () => {}
  const stops: (() => Promise<void>)[] = []

  const unlisten = deps.journalNotifier.listen({
    conversationChanged(conversationId) {
      unchecked.addConversations([conversationId])
      checking?.nudge()
    },
    usersChanged(users) {
      unchecked.addUsers(users)
      checking?.nudge()
    },
  })

  async function check(): Promise<boolean> {
    await queueDueAmong(jobs, kinds, unchecked)
    // Other transactions have locked the remaining conversations: check them again after GATHER_MS.
    if (unchecked.hasConversations()) checking?.nudge()
    return false
  }

  const sweep = () =>
    queueAllDue(jobs, kinds, signal).catch((err) => {
      if (!signal.aborted) log.warn({ err }, 'could not find due work')
    })

  async function stop(): Promise<void> {
    stopping.abort()
    unlisten()
    await Promise.all([stopSweeping(), checking?.stop()])
    await Promise.all(stops.map((each) => each()))
  }

  try {
    for (const work of kinds.conversationWork) {
      stops.push(
        await startWorker(deps, work, (subject) => {
          unchecked.addConversations([work.conversationOf?.(subject) ?? subject.key])
          checking?.nudge()
        }),
      )
    }
    for (const work of kinds.userWork) {
      stops.push(
        await startWorker(deps, work, (user) => {
          unchecked.addUsers([user])
          checking?.nudge()
        }),
      )
    }
  } catch (error) {
    await stop()
    throw error
  }
  checking = startLoop(deps, {
    step: check,
    gatherMs: GATHER_MS,
    sweepMs: null,
    messages: { failing: 'could not find due work; retrying', recovered: 'finding due work succeeds again' },
    details: {},
  })
  stopSweeping = every(deps.clock, SWEEP_MS, sweep, { atOnce: true })
  return stop
}
