// Finding work: conversations that grow are looked at a moment later, and everything once a minute, in case that moment was
// lost. What is due becomes a job. Looking twice, by however many processes, does no harm.

import type { Subject } from '../../store/job-queue.ts'
import type { Platform } from '../platform.ts'
import { QUEUES, startWorker, type Work } from './worker.ts'

/** Counts what people have said: how far users come forward. */
type Counter = {
  /** Conversations of which something is not counted, after that one in the order of ids. */
  uncounted(after: string, limit: number): Promise<string[]>
  /** Counts what those conversations have; of whom, and which of the conversations somebody else was at. */
  count(conversationIds: readonly string[]): Promise<{ users: Subject[]; taken: string[] }>
}

export type Works = {
  conversationIds: readonly Work<string>[]
  users: readonly Work<Subject>[]
  /** Null where no work is about users. */
  counter: Counter | null
}

/** How long growth waits for more of it, to be looked at together. */
const SOON_MS = 250
const SWEEP_MS = 60_000
/** Looked at in one statement. */
const BATCH = 500

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += BATCH) yield all.slice(from, from + BATCH)
}

/** Starts finding and doing it; the result stops both, once what runs has ended. */
export async function startWorks(deps: Platform, works: Works): Promise<() => Promise<void>> {
  const { jobs, log, journalGrowth } = deps
  const conversationIds = new Set<string>()
  const users = new Map<string, Subject>()
  const running = new Set<Promise<void>>()
  let soon: NodeJS.Timeout | null = null
  let isSweeping = false
  /** Not before there is a worker for everything. */
  let isOn = false
  let stopped = false

  function track(work: Promise<void>): void {
    const done = work
      .catch((err) => {
        if (!stopped) log.warn({ err }, 'could not look for work')
      })
      .finally(() => running.delete(done))
    running.add(done)
  }

  const addUsers = (more: readonly Subject[]) => {
    for (const user of more) users.set(JSON.stringify(user), user)
  }

  async function look(): Promise<void> {
    for (const batch of batches([...conversationIds])) {
      for (const conversationId of batch) conversationIds.delete(conversationId)
      for (const { name, dueAmong } of works.conversationIds) await jobs.send(QUEUES[name], await dueAmong(batch))
      const counted = await works.counter?.count(batch)
      addUsers(counted?.users ?? [])
      for (const conversationId of counted?.taken ?? []) conversationIds.add(conversationId)
    }
    const forward = [...users.values()]
    users.clear()
    for (const batch of batches(forward)) {
      for (const { name, dueAmong } of works.users) await jobs.send(QUEUES[name], await dueAmong(batch))
    }
    if (conversationIds.size > 0) lookSoon()
  }

  function lookSoon(): void {
    if (stopped || !isOn) return
    soon ??= setTimeout(() => {
      soon = null
      track(look())
    }, SOON_MS)
  }

  const addConversation = (conversationId: string) => {
    conversationIds.add(conversationId)
    lookSoon()
  }

  async function sweepOver({ name, due }: Pick<Work<never>, 'name' | 'due'>): Promise<void> {
    let after: Subject | null = null
    while (!stopped) {
      const found: Subject[] = await due(after, BATCH)
      await jobs.send(QUEUES[name], found)
      if (found.length < BATCH) return
      after = found.at(-1)!
    }
  }

  async function count({ uncounted, count: countIn }: Counter): Promise<void> {
    let after = ''
    while (!stopped) {
      const found = await uncounted(after, BATCH)
      await countIn(found)
      if (found.length < BATCH) return
      after = found.at(-1)!
    }
  }

  async function sweep(): Promise<void> {
    if (isSweeping) return
    isSweeping = true
    try {
      for (const work of works.conversationIds) await sweepOver(work)
      if (works.counter) await count(works.counter)
      for (const work of works.users) await sweepOver(work)
    } finally {
      isSweeping = false
    }
  }

  const stops: (() => Promise<void>)[] = []
  const unlisten = journalGrowth.listen(addConversation)
  const sweeping = setInterval(() => track(sweep()), SWEEP_MS)
  sweeping.unref()
  const stop = async () => {
    stopped = true
    unlisten()
    clearInterval(sweeping)
    if (soon) clearTimeout(soon)
    await Promise.all(running)
    await Promise.all(stops.map((each) => each()))
  }
  try {
    for (const work of works.conversationIds)
      stops.push(await startWorker(deps, work, ({ key }) => addConversation(key)))
    for (const work of works.users) {
      stops.push(
        await startWorker(deps, work, (user) => {
          addUsers([user])
          lookSoon()
        }),
      )
    }
  } catch (error) {
    await stop()
    throw error
  }
  isOn = true
  track(sweep())
  return stop
}
