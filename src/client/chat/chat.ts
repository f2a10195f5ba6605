// The live state of a chat: the transcript of its conversation, the answers that it waits for, and the approvals of tool
// calls. The answers and approvals are read again after each journal entry, and at intervals while an answer is expected,
// because a server that gives up an answer writes no entry.

import {
  ColloquyError,
  type Client,
  type ConversationHandle,
  type Live,
  type ParticipantKind,
  type TranscriptState,
  type TurnStatus,
} from '../index.ts'

/** An approval of a tool call, as `approvals` of the client returns it. */
export type CallApproval = {
  id: string
  callId: string
  state: 'PENDING' | 'APPROVED' | 'DENIED' | 'EXPIRED' | 'CANCELLED'
  reason: string | null
  turn: { id: string }
}

/** A run of an agent. `replies` are the turns that it has written. */
export type ChatRun = {
  id: string
  actor: string
  /** Actor who started the run. */
  startedBy: string
  state: 'RUNNING' | 'WAITING_FOR_TOOLS' | 'WAITING_FOR_APPROVAL' | 'COMPLETED' | 'FAILED' | 'CANCELLED'
  error: { message: string } | null
  replyTo: { position: number } | null
}

/** An answer that is expected; see `pendingAnswers` in the schema. */
export type ChatAnswer = {
  participant: { kind: ParticipantKind } | null
  turn: { position: number; actor: string } | null
  run: (ChatRun & { replies: { id: string }[] }) | null
}

/** What the server has stored, read at one time. */
export type Answering = {
  pendingAnswers: ChatAnswer[]
  /** The newest runs, newest first. */
  runs: ChatRun[]
  approvals: CallApproval[]
  /** The newest turns. The transcript receives their states a little later. */
  turns: { id: string; position: number; status: TurnStatus }[]
}

/** `answering` is null before the first read and after a read that failed. `error`: a permanent failure. */
export type ChatState = { transcript: TranscriptState; answering: Answering | null; error: Error | null }

export type Chat = Live<ChatState> & {
  readonly conversation: ConversationHandle
  /** Reads the history back to the position. @throws ColloquyError */
  reach(position: number): Promise<void>
  /** Resolves when the answers and approvals have been read again. The chat must have a listener. Never rejects. */
  refresh(): Promise<void>
}

const READ = `query Answering($id: ID!, $as: String) {
  conversation(id: $id, as: $as) {
    pendingAnswers { participant { kind } turn { position actor } run { ...ChatRun replies { id } } }
    runs(first: 20) { nodes { ...ChatRun } }
    turns(last: 50) { nodes { id position status } }
  }
  pending: approvals(conversationId: $id, as: $as, state: PENDING, first: 50) { nodes { ...ChatApproval } }
  newest: approvals(conversationId: $id, as: $as, first: 50) { nodes { ...ChatApproval } }
}
fragment ChatRun on Run { id actor startedBy state error { message } replyTo { position } }
fragment ChatApproval on Approval { id callId state reason turn { id } }`

/** Interval of reads while an answer is expected, ms. */
const INTERVAL_MS = 5_000

/** Creates the live state of a conversation. Nothing is read before the first listener is added. */
export function createChat(client: Client, conversationId: string): Chat {
  const conversation = client.conversation(conversationId)
  const transcript = conversation.transcript()
  const listeners = new Set<() => void>()
  let state: ChatState = { transcript: transcript.get(), answering: null, error: null }
  let stop: (() => void) | null = null
  let refresh = async () => {}

  function change(changes: Partial<ChatState>): void {
    state = { ...state, ...changes }
    for (const listener of [...listeners]) listener()
  }

  async function read(signal: AbortSignal): Promise<Answering> {
    const given = { id: conversationId, as: client.as }
    const { conversation: found, pending, newest } = await client.request(READ, given, { signal })
    const { pendingAnswers, runs, turns } = found ?? { pendingAnswers: [], runs: { nodes: [] }, turns: { nodes: [] } }
    return { pendingAnswers, runs: runs.nodes, approvals: [...pending.nodes, ...newest.nodes], turns: turns.nodes }
  }

  function start(): () => void {
    const ending = new AbortController()
    const { signal } = ending
    let timer: ReturnType<typeof setTimeout> | undefined
    let reading = Promise.resolve()
    let queued: Promise<void> | null = null

    async function readOnce(): Promise<void> {
      queued = null
      clearTimeout(timer)
      try {
        change({ answering: await read(signal), error: null })
      } catch (error) {
        // After an outage, nothing is known until it is read again.
        const isTemporary = error instanceof ColloquyError && error.isRetryable
        if (!signal.aborted) change({ answering: null, error: isTemporary ? null : (error as Error) })
      }
      if (signal.aborted || state.answering?.pendingAnswers.length === 0) return
      timer = setTimeout(() => void refresh(), INTERVAL_MS)
    }
    refresh = () => (queued ??= reading = reading.then(readOnce))

    let seq = -1
    const unsubscribe = transcript.subscribe(() => {
      const next = transcript.get()
      change({ transcript: next })
      if (next.lastSeq === seq) return
      seq = next.lastSeq
      void refresh()
    })
    void refresh()
    return () => {
      ending.abort()
      clearTimeout(timer)
      unsubscribe()
    }
  }

  return {
    conversation,
    async reach(position) {
      const isBefore = ({ turns, hasOlder }: TranscriptState) => hasOlder && turns[0] && turns[0].position > position
      while (isBefore(transcript.get())) await transcript.older()
    },
    refresh: () => refresh(),
    get: () => state,
    subscribe(listener) {
      const added = () => listener()
      listeners.add(added)
      if (!stop) {
        state = { ...state, answering: null, error: null }
        stop = start()
      }
      return () => {
        listeners.delete(added)
        if (listeners.size > 0) return
        stop?.()
        stop = null
      }
    },
  }
}

/** Resolves when the chat has been read. The caller must have added a listener. @throws ColloquyError */
export async function readyToRead(chat: Chat): Promise<void> {
  const changes = changesOf(chat)
  try {
    for (;;) {
      const state = chat.get()
      requireReadable(state)
      if (state.transcript.conversation && state.answering) return
      await changes.next(INTERVAL_MS)
    }
  } finally {
    changes.close()
  }
}

/** @throws ColloquyError if the conversation can no longer be read @throws Error if it was deleted */
export function requireReadable({ transcript, error }: ChatState): void {
  if (transcript.status === 'failed' || error) throw (transcript.error ?? error)!
  if (transcript.status === 'deleted') throw new Error('The conversation was deleted.')
}

/** Waits for the changes of a live value, until the signal is aborted. */
export function changesOf({ subscribe }: Pick<Live<unknown>, 'subscribe'>, signal?: AbortSignal) {
  let isChanged = false
  let wake = () => {}
  const onChange = () => {
    isChanged = true
    wake()
  }
  const unsubscribe = subscribe(onChange)
  signal?.addEventListener('abort', onChange)
  return {
    /** Resolves after the next change since the last call, or after `ms`. */
    async next(ms: number): Promise<void> {
      if (!isChanged) {
        let timer: ReturnType<typeof setTimeout>
        await new Promise<void>((resolve) => {
          wake = resolve
          timer = setTimeout(resolve, ms)
        }).finally(() => clearTimeout(timer))
      }
      isChanged = false
    },
    close(): void {
      unsubscribe()
      signal?.removeEventListener('abort', onChange)
    },
  }
}
