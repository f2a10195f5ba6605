// One feed a conversation and process: it reads each new entry once, in order, and hands it to all who follow the conversation live.
// It is woken by the bus and trusts it with nothing: after 5 s of silence, and whenever the bus was away, it looks for
// itself. Readers who are behind read for themselves (reader.ts) until they stand where the feed stands.

import { NotFound } from '../../errors.ts'
import { readLastSeq } from '../../store/sql/event/read-journal.ts'
import { readOpenTurns } from '../../store/sql/streaming-turn/read-open-turns.ts'
import { readParticipants, type ParticipantRow } from '../../store/sql/participant/read-participants.ts'
import { readTextSoFar } from '../../store/sql/turn/read-turns.ts'
import type { TurnRow } from '../../store/sql/turn/turn-columns.ts'
import { toParticipant } from '../participant.ts'
import type { Platform } from '../platform.ts'
import { OPEN_VIEW, type View } from '../view.ts'
import { conversationTopic, type ConversationMessage } from '../publisher.ts'
import { readEvents, type ConversationEvent, type JournalEvent } from './event.ts'

/** Silence after which a feed looks for what the bus may have lost, in ms. */
const SILENCE = 5_000
/** Entries read at once. */
const PAGE = 500

/** A reader that stands where the feed stands. */
export type Follower = {
  actor: string
  tell(event: ConversationEvent): void
  /** The actor's view has changed; `open` are the turns being written. */
  changeView(view: View, open: Iterable<OpenTurn>): void
  /** The conversation is gone. */
  end(): void
}

/** A turn being written, as far as the feed has told it. */
export type OpenTurn = { turn: TurnRow; text: string }

export type Feed = {
  readonly conversationId: string
  readonly tenant: string
  /** The newest entry that was handed out. */
  readonly head: number
  readonly open: ReadonlyMap<string, OpenTurn>
  readonly deleted: boolean
  viewOf(actor: string): View
  /** Resolves once the feed stands at that entry, or the conversation is gone. */
  reach(seq: number): Promise<void>
  follow(follower: Follower): void
  unfollow(follower: Follower): void
}

/** 'reach' resolves once the feed stands at `seq` at least. */
type Task = ConversationMessage | { type: 'look' } | { type: 'reach'; seq: number; resolve(): void }

/** Starts the feed of a conversation. @throws NotFound */
async function startFeed(deps: Platform, tenant: string, conversationId: string) {
  const followers = new Set<Follower>()
  const open = new Map<string, OpenTurn>()
  let participants = new Map<string, ParticipantRow>()
  let head = 0
  let deleted = false
  let closed = false
  let busy = true
  const tasks: Task[] = []
  /** Those that failed, until the next look. */
  const unreached: Task[] = []

  const emit = (event: ConversationEvent) => {
    for (const follower of followers) follower.tell(event)
  }
  const viewOf = (actor: string): View => participants.get(actor) ?? OPEN_VIEW

  /** Tells the rest of an open turn's text, given all of it. */
  function grow(known: OpenTurn, text: string): void {
    const start = known.text.length
    if (text.length <= start) return
    known.text = text
    emit({
      type: 'TurnDelta',
      conversationId,
      seq: null,
      at: new Date(),
      turnId: known.turn.id,
      start,
      end: text.length,
      text: text.slice(start),
      of: known.turn,
    })
  }

  async function loadParticipants(): Promise<void> {
    const before = participants
    const rows = await readParticipants(deps.pool, tenant, [conversationId])
    participants = new Map(rows.map((row) => [row.actor, row]))
    for (const follower of followers) {
      const [was, is] = [before.get(follower.actor), participants.get(follower.actor)]
      if (is && (was?.windows.join() !== is.windows.join() || was.addressed !== is.addressed)) {
        follower.changeView(is, open.values())
      }
    }
  }

  function apply(event: JournalEvent): void {
    head = event.seq
    if (event.type === 'TurnOpened' && event.turn.status === 'STREAMING') {
      open.set(event.turn.id, { turn: event.turn, text: '' })
    }
    if (event.type === 'TurnCommitted' || event.type === 'TurnAborted') {
      const known = open.get(event.turn.id)
      if (known) grow(known, event.turn.text)
      open.delete(event.turn.id)
    }
    emit(event)
  }

  const changesViews = (event: JournalEvent) =>
    event.type === 'ParticipantJoined'
    || event.type === 'ParticipantLeft'
    || ('turn' in event && event.turn.audience?.some((actor) => !participants.get(actor)?.addressed))

  async function readOn(): Promise<void> {
    for (;;) {
      const { events, last, complete } = await readEvents(deps, tenant, conversationId, head, PAGE)
      if (events.some(changesViews)) await loadParticipants()
      for (const event of events) apply(event)
      head = last
      if (complete) return
    }
  }

  async function handle(task: Task): Promise<void> {
    const passing = { conversationId, seq: null, at: new Date() }
    switch (task.type) {
      case 'entries':
        if (task.seq > head) await readOn()
        silence.refresh()
        return
      case 'reach':
        if (task.seq > head) await readOn()
        return task.resolve()
      case 'delta': {
        if (!open.has(task.turnId)) await readOn()
        const known = open.get(task.turnId)
        if (!known) return
        if (task.start <= known.text.length) grow(known, known.text.slice(0, task.start) + task.text)
        else grow(known, (await readTextSoFar(deps.pool, tenant, [task.turnId])).get(task.turnId) ?? '')
        return
      }
      case 'read':
      case 'presence': {
        const [row] = await readParticipants(deps.pool, tenant, [conversationId], [task.actor])
        if (!row) return
        const participant = toParticipant(row)
        if (task.type === 'read') emit({ ...passing, type: 'ParticipantRead', participant })
        else emit({ ...passing, type: 'PresenceChanged', participant, state: task.state })
        return
      }
      case 'deleted':
        return end()
      case 'look': {
        silence.refresh()
        if ((await readLastSeq(deps.pool, tenant, conversationId)) === null) return end()
        await readOn()
        const texts = open.size ? await readTextSoFar(deps.pool, tenant, [...open.keys()]) : new Map<string, string>()
        for (const [id, text] of texts) {
          const known = open.get(id)
          if (known) grow(known, text)
        }
      }
    }
  }

  function end(): void {
    deleted = true
    giveUp()
    emit({ type: 'ConversationDeleted', conversationId, seq: null, at: new Date() })
    for (const follower of followers) follower.end()
  }

  /** Nobody waits for a feed that is over. */
  function giveUp(): void {
    for (const task of [...tasks, ...unreached]) if (task.type === 'reach') task.resolve()
  }

  /** Handles tasks one after the other; a failure is repaired by the next look. */
  async function run(): Promise<void> {
    busy = true
    for (let task = tasks.shift(); task && !closed && !deleted; task = tasks.shift()) {
      try {
        await handle(task)
      } catch (error) {
        deps.log.warn({ err: error, conversationId }, 'could not read the journal; trying again in 5 s')
        silence.refresh()
        if (task.type === 'reach') closed ? task.resolve() : unreached.push(task)
      }
    }
    busy = false
  }

  function wake(task: Task): void {
    if (closed || deleted) return
    tasks.push(task)
    if (!busy) void run()
  }

  const silence = setTimeout(() => {
    wake({ type: 'look' })
    for (const task of unreached.splice(0)) wake(task)
  }, SILENCE)
  silence.unref()
  const unsubscribe = await deps.bus.subscribe(conversationTopic(conversationId), (message) =>
    wake(JSON.parse(message) as ConversationMessage),
  )
  const stopListening = deps.bus.onRestored(() => wake({ type: 'look' }))
  async function close(): Promise<void> {
    closed = true
    giveUp()
    clearTimeout(silence)
    stopListening()
    await unsubscribe()
  }
  try {
    // What happens from here on waits in `tasks`.
    const last = await readLastSeq(deps.pool, tenant, conversationId)
    if (last === null) throw new NotFound('conversation', conversationId)
    for (const { turn, text } of await readOpenTurns(deps.pool, conversationId)) {
      // One that was opened in between is told of when its entry is read.
      if (turn.seq <= last) open.set(turn.id, { turn, text })
    }
    await loadParticipants()
    head = last
    void run()
  } catch (error) {
    await close()
    throw error
  }

  const feed: Feed = {
    conversationId,
    tenant,
    open,
    viewOf,
    reach: (seq) =>
      new Promise((resolve) => {
        if (seq <= head || deleted || closed) return resolve()
        wake({ type: 'reach', seq, resolve })
      }),
    get head() {
      return head
    },
    get deleted() {
      return deleted
    },
    follow: (follower) => void followers.add(follower),
    unfollow: (follower) => void followers.delete(follower),
  }
  return { feed, close }
}

export type Feeds = {
  /**
   * The feed of a conversation, started if nobody uses it. It goes on until `release` was called as often as this.
   * @throws NotFound
   */
  acquire(tenant: string, conversationId: string): Promise<Feed>
  release(feed: Feed): void
  close(): Promise<void>
}

export function createFeeds(deps: Platform): Feeds {
  type Used = { users: number; started: ReturnType<typeof startFeed> }
  const used = new Map<string, Used>()
  const keyOf = (tenant: string, conversationId: string) => `${conversationId} ${tenant}`

  function drop(key: string, entry: Used): void {
    entry.users -= 1
    if (entry.users > 0) return
    if (used.get(key) === entry) used.delete(key)
    entry.started.then(({ close }) => close()).catch(() => {})
  }

  return {
    async acquire(tenant, conversationId) {
      const key = keyOf(tenant, conversationId)
      let entry = used.get(key)
      if (!entry) used.set(key, (entry = { users: 0, started: startFeed(deps, tenant, conversationId) }))
      entry.users += 1
      try {
        const { feed } = await entry.started
        if (feed.deleted) throw new NotFound('conversation', conversationId)
        return feed
      } catch (error) {
        drop(key, entry)
        throw error
      }
    },
    release(feed) {
      const key = keyOf(feed.tenant, feed.conversationId)
      const entry = used.get(key)
      if (entry) drop(key, entry)
    },
    async close() {
      const entries = [...used.values()]
      used.clear()
      await Promise.all(entries.map(({ started }) => started.then(({ close }) => close()).catch(() => {})))
    },
  }
}
