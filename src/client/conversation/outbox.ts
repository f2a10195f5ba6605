// The turns that the client appends, until the server acknowledges them. Transcripts show them after the acknowledged
// turns. A turn that could not be sent is kept, with its idempotency key, so that sending it again cannot append it twice.
// The turns of a conversation are sent one after another, so that they are appended in the order in which they are shown.

import { randomId, type ConversationName } from '../verbs/calls.ts'
import type { Turn, TurnInput } from '../generated.ts'
import { settled } from '../transport/retry.ts'

/** A turn that the server has not acknowledged. */
export type PendingTurn = {
  /** The turn's idempotency key. */
  readonly clientId: string
  readonly turn: TurnInput
  /** PENDING while the call waits for earlier ones, runs or is retried; FAILED after its last failure. */
  readonly status: 'PENDING' | 'FAILED'
  /** The failure, which the caller of `append` received; null while PENDING. */
  readonly error: unknown
  /** Sends a FAILED turn again. The state shows the outcome. */
  retry(): void
  /** Removes a FAILED turn from `pending`. If the server has it, because only the answer was lost, it is in `turns`. */
  discard(): void
}

/** Sends a turn, and awaits `before` before each attempt. */
type Send = (turn: TurnInput, before: () => Promise<void>) => Promise<Turn>
type Entry = { readonly name: ConversationName; readonly pending: PendingTurn }
/** A turn that the server has acknowledged, and the idempotency key of its call. */
export type Acknowledged = { readonly clientId: string; readonly turn: Turn }
/** Called after each change, with the turn that was acknowledged, if any. */
type Listener = (acknowledged?: Acknowledged) => void
export type Outbox = ReturnType<typeof createOutbox>

/** Maximum number of turns that are shown. The oldest are removed first. */
const MAX_SHOWN = 200

export function createOutbox() {
  let entries: readonly Entry[] = []
  /** Whether a transcript has shown the turns. Without one, failed turns are not kept. */
  let isShown = false
  const listeners = new Set<Listener>()
  /** The end of the newest call in each conversation. The next call waits for it. */
  const ends = new Map<string, Promise<unknown>>()

  function change(next: readonly Entry[], acknowledged?: Acknowledged): void {
    entries = next.slice(-MAX_SHOWN)
    for (const listener of listeners) listener(acknowledged)
  }

  /** Calls `send` in the order of the calls for the conversation. */
  function inOrder(name: ConversationName, turn: TurnInput, send: Send, signal?: AbortSignal | null): Promise<Turn> {
    const key = JSON.stringify(name)
    const earlier = ends.get(key) ?? Promise.resolve()
    const sending = send(turn, () => settled(earlier, signal))
    // Waits for `earlier` too: a call whose signal is aborted ends before the calls that it waits for.
    const ended: Promise<unknown> = Promise.allSettled([earlier, sending]).then(
      () => ends.get(key) === ended && ends.delete(key),
    )
    ends.set(key, ended)
    return sending
  }

  return {
    /** Returns the turns of the conversation in the order of their first calls. */
    of: ({ id, key }: { id?: string | null; key?: string | null }): PendingTurn[] =>
      entries.filter(({ name }) => ('id' in name ? name.id === id : name.key === key)).map(({ pending }) => pending),
    /** Adds a listener, and returns the function that removes it. */
    listen(listener: Listener): () => void {
      isShown = true
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /**
     * Shows the turn until `send` resolves, or fails because the signal is aborted.
     * @throws the error of `send`
     */
    append(name: ConversationName, given: TurnInput, send: Send, signal?: AbortSignal | null): Promise<Turn> {
      const clientId = given.clientId ?? randomId()
      const turn = { ...given, clientId }
      const isOther = ({ pending }: Entry) => pending.clientId !== clientId
      const remove = (acknowledged?: Acknowledged) => change(entries.filter(isOther), acknowledged)
      function show(status: PendingTurn['status'], error: unknown): void {
        const retry = () => void attempt().catch(() => {})
        const entry = { name, pending: { clientId, turn, status, error, retry, discard: () => remove() } }
        const index = entries.findIndex((each) => !isOther(each))
        change(index < 0 ? [...entries, entry] : entries.with(index, entry))
      }
      async function attempt(): Promise<Turn> {
        show('PENDING', null)
        try {
          const appended = await inOrder(name, turn, send, signal)
          remove({ clientId, turn: appended })
          return appended
        } catch (error) {
          if (isShown && !signal?.aborted) show('FAILED', error)
          else remove()
          throw error
        }
      }
      return attempt()
    },
  }
}
