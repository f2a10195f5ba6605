// The feed of a conversation, one per process: it reads each new entry once, in order, and emits it to the live readers
// of the process. A message on the bus wakes it. Messages may be lost, so the feed also checks the database CHECK_MS
// after the last announced entries, and when the bus is restored. Readers that are behind the feed's head read the
// journal until they reach it (follow.ts).

import { backoffMs } from '../../../runtime/clock.ts'
import { counters, observe } from '../../../runtime/counters.ts'
import { NotFound } from '../../../errors.ts'
import { SMALL_PAGE, readJournalHead } from '../../../store/sql/turn/journal/read-journal.ts'
import { readOpenTurns } from '../../../store/sql/turn/streaming/read-open-turns.ts'
import { readParticipants } from '../../../store/sql/conversation/participant/read-participants.ts'
import { readOpenPart } from '../../../store/sql/turn/streaming/read-open-part.ts'
import { readContentSoFar } from '../../../store/sql/turn/streaming/open-content.ts'
import { toParticipant } from '../../conversation/participant/participant.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { View } from '../../kernel/view.ts'
import { conversationTopic, type ConversationMessage } from '../../kernel/live/publisher.ts'
import type { ConversationEvent } from './event.ts'
import {
  changedView,
  changesViews,
  hasLeft,
  missingFor,
  reduceFeed,
  startFeedState,
  viewOf,
  type FeedInput,
  type FeedState,
  type OpenTurn,
} from './feed-state.ts'
import { createFeedTasks, type FeedTask, type FeedTasks } from './feed-tasks.ts'
import { readEvents } from './journal-page.ts'

/** Time after the last announced entries or the last check after which a feed checks the database, ms. @internal */
export const CHECK_MS = 5_000
/**
 * Time after a failure until the database is checked again, ms. Each further failure doubles it, up to `max`.
 * @internal
 */
export const RETRY = { firstMs: 250, maxMs: 30_000 }
/** Maximum number of entries per read. */
const PAGE = 500

/** A reader that has reached the feed's head and receives the feed's events. */
export type Follower = {
  actor: string
  /** Called with each event, whether or not the actor's view contains it. */
  deliver(event: ConversationEvent): void
  /** Called when the actor's view has changed; it may be NO_VIEW. `open` contains the open turns. */
  changeView(view: View, open: Iterable<OpenTurn>): void
  /** Called when the conversation has been deleted. */
  end(): void
}

export type Feed = {
  readonly conversationId: string
  readonly tenant: string
  /** Seq of the newest emitted entry. */
  readonly head: number
  /** The open turns, by id. */
  readonly open: ReadonlyMap<string, OpenTurn>
  /** Whether the conversation was deleted. */
  readonly deleted: boolean
  viewOf(actor: string): View
  /** Whether the actor has left the conversation and the conversation is MEMBERS. */
  hasLeft(actor: string): boolean
  /** Resolves once the feed has emitted entry `seq`, or has ended. */
  reach(seq: number): Promise<void>
  follow(follower: Follower): void
  unfollow(follower: Follower): void
}

/** The state of a running feed. */
type FeedRun = {
  readonly deps: Platform
  readonly tenant: string
  readonly conversationId: string
  state: FeedState
  readonly followers: Set<Follower>
  readonly tasks: FeedTasks
  /** Adds a 'check' task after CHECK_MS unless it is refreshed. */
  readonly checkTimer: NodeJS.Timeout
  /** Adds a 'check' task after a failure (see RETRY); undefined before the first failure. */
  retryTimer?: NodeJS.Timeout
}

/** Applies an input and emits its events. Updates the state first, because followers read it during an event. */
function apply(run: FeedRun, input: FeedInput): void {
  const { state, events } = reduceFeed(run.state, input)
  run.state = state
  for (const event of events) for (const follower of run.followers) follower.deliver(event)
}

/** Reads the participants and the visibility, and changes the views of the followers. */
async function loadParticipants(run: FeedRun): Promise<void> {
  const { deps, tenant, conversationId } = run
  const participants = await readParticipants(deps.pool, { tenant, actor: null }, [conversationId])
  const head = await readJournalHead(deps.pool, tenant, conversationId)
  const before = run.state
  apply(run, { type: 'participants', participants, visibility: head?.visibility ?? before.visibility })
  for (const follower of run.followers) {
    const view = changedView(before, run.state, follower.actor)
    if (view) follower.changeView(view, run.state.open.values())
  }
}

/** Emits the entries after the head. The first page is small, because there are usually only a few new entries. */
async function readEntries(run: FeedRun): Promise<void> {
  const { deps, tenant, conversationId } = run
  for (let limit = SMALL_PAGE; ; limit = PAGE) {
    const { events, last, reachesEnd } = await readEvents(deps, tenant, conversationId, {
      after: run.state.head,
      limit,
    })
    if (events.some((event) => changesViews(run.state, event))) await loadParticipants(run)
    const at = new Date()
    for (const event of events) {
      apply(run, { type: 'entry', event, at })
      observe(counters.lag, Math.max(0, deps.clock.Date.now() - event.at.getTime()) / 1000)
    }
    apply(run, { type: 'pageEnd', seq: last })
    if (reachesEnd) return
  }
}

/** Emits the stored content of open turns that was not emitted before. */
async function readContents(run: FeedRun, turnIds: readonly string[]): Promise<void> {
  if (turnIds.length === 0) return
  const contents = await readContentSoFar(run.deps.pool, run.tenant, [...turnIds])
  for (const [turnId, { text, parts }] of contents) {
    apply(run, { type: 'text', turnId, text, at: new Date() })
    for (const part of parts) apply(run, { type: 'part', turnId, part, at: new Date() })
  }
}

async function handleDelta(run: FeedRun, delta: Extract<FeedTask, { type: 'delta' }>): Promise<void> {
  if (missingFor(run.state, delta) === 'entries') await readEntries(run)
  if (missingFor(run.state, delta) === 'content') return readContents(run, [delta.turnId])
  apply(run, { ...delta, at: new Date() })
}

/**
 * Emits new text of a private open turn, or of a part of it. One read returns all further stored text, so later 'text'
 * tasks for it usually need no read.
 */
async function handleText(run: FeedRun, { turnId, number, end }: Extract<FeedTask, { type: 'text' }>): Promise<void> {
  if (!run.state.open.has(turnId)) await readEntries(run)
  const open = run.state.open.get(turnId)
  if (!open) return
  const known = number === 0 ? open : open.parts[number - 1]
  if (!known && number > open.parts.length + 1) return readContents(run, [turnId])
  const from = known?.text.length ?? 0
  // A part may also have been opened or completed without text.
  if (number === 0 && from >= end) return
  const read = await readOpenPart(run.deps.pool, run.tenant, { turnId, number, from })
  if (!read) return
  const part = read.part && { number, ...read.part }
  apply(run, { type: 'delta', turnId, part, start: read.start, text: read.text, at: new Date() })
}

async function checkDatabase(run: FeedRun): Promise<void> {
  if ((await readJournalHead(run.deps.pool, run.tenant, run.conversationId)) === null) return end(run)
  await readEntries(run)
  await readContents(run, [...run.state.open.keys()])
  run.checkTimer.refresh()
}

/** Logs the first failure of a series, and checks the database after a pause. */
function retryLater(run: FeedRun, err: unknown, failures: number): void {
  const { deps, conversationId } = run
  if (failures === 1) deps.log.warn({ err, conversationId }, 'could not read the journal; retrying until it succeeds')
  deps.clock.clearTimeout(run.retryTimer)
  run.retryTimer = deps.clock.setTimeout(() => run.tasks.add({ type: 'check' }), backoffMs(RETRY, failures)).unref()
}

function end(run: FeedRun): void {
  run.tasks.stop()
  apply(run, { type: 'deleted', at: new Date() })
  for (const follower of run.followers) follower.end()
}

async function handle(run: FeedRun, task: FeedTask): Promise<void> {
  switch (task.type) {
    case 'entries':
      if (task.seq > run.state.head) await readEntries(run)
      run.checkTimer.refresh()
      return
    case 'reach':
      if (task.seq > run.state.head) await readEntries(run)
      return task.resolve()
    case 'delta':
      return handleDelta(run, task)
    case 'text':
      return handleText(run, task)
    case 'read':
    case 'presence': {
      const at = new Date()
      const all = { tenant: run.tenant, actor: null }
      const [row] = await readParticipants(run.deps.pool, all, [run.conversationId], [task.actor])
      if (row) apply(run, { ...task, participant: toParticipant(row), at })
      return
    }
    case 'deleted':
      return end(run)
    case 'check':
      return checkDatabase(run)
  }
}

async function loadState({ deps, tenant, conversationId }: FeedRun): Promise<FeedState> {
  const head = await readJournalHead(deps.pool, tenant, conversationId)
  if (head === null) throw new NotFound('conversation', conversationId)
  const open = await readOpenTurns(deps.pool, tenant, conversationId)
  const participants = await readParticipants(deps.pool, { tenant, actor: null }, [conversationId])
  return startFeedState({ conversationId, head: head.lastSeq, open, participants, visibility: head.visibility })
}

function createFeedRun(deps: Platform, tenant: string, conversationId: string): FeedRun {
  const tasks = createFeedTasks((task) => handle(run, task), {
    onFailure: (error, failures) => retryLater(run, error, failures),
    onRecovery: () => deps.log.info({ conversationId }, 'reading the journal succeeds again'),
  })
  const checkTimer = deps.clock.setTimeout(() => {
    if (!tasks.isFailing) tasks.add({ type: 'check' })
  }, CHECK_MS)
  checkTimer.unref()
  const state = startFeedState({ conversationId, head: 0, open: [], participants: [], visibility: 'MEMBERS' })
  const run: FeedRun = { deps, tenant, conversationId, state, followers: new Set(), tasks, checkTimer }
  return run
}

const feedOf = (run: FeedRun): Feed => ({
  conversationId: run.conversationId,
  tenant: run.tenant,
  get head() {
    return run.state.head
  },
  get open() {
    return run.state.open
  },
  get deleted() {
    return run.state.deleted
  },
  viewOf: (actor) => viewOf(run.state, actor),
  hasLeft: (actor) => hasLeft(run.state, actor),
  reach: (seq) =>
    new Promise((resolve) => {
      if (seq <= run.state.head || run.tasks.stopped) resolve()
      else run.tasks.add({ type: 'reach', seq, resolve })
    }),
  follow: (follower) => void run.followers.add(follower),
  unfollow: (follower) => void run.followers.delete(follower),
})

export type StartedFeed = { feed: Feed; close(): Promise<void> }

/** Starts the feed of a conversation. @throws NotFound */
export async function startFeed(deps: Platform, tenant: string, conversationId: string): Promise<StartedFeed> {
  const run = createFeedRun(deps, tenant, conversationId)
  // Subscribe before reading the state: messages that arrive meanwhile wait as tasks, so none is missed.
  const unsubscribe = await deps.bus.subscribe(conversationTopic(conversationId), (message) =>
    run.tasks.add(JSON.parse(message) as ConversationMessage),
  )
  const stopListening = deps.bus.onRestored(() => run.tasks.add({ type: 'check' }))
  async function close(): Promise<void> {
    run.tasks.stop()
    deps.clock.clearTimeout(run.checkTimer)
    deps.clock.clearTimeout(run.retryTimer)
    stopListening()
    await unsubscribe()
  }
  try {
    run.state = await loadState(run)
    run.tasks.start()
  } catch (error) {
    await close()
    throw error
  }
  return { feed: feedOf(run), close }
}
