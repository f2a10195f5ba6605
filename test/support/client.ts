// Clients of src/client on both transports, for the suites of test/backend/client.

import { expect, vi } from 'vitest'
import { WebSocket } from 'ws'
import { counters } from '../../src/runtime/counters.ts'
import { connect, type Client, type ConnectOptions, type FollowedEvent } from '../../src/client/index.ts'

/** The transports of subscriptions, for `describe.each`. */
export const TRANSPORTS = [
  { transport: 'WebSocket', webSocket: WebSocket },
  { transport: 'Server-Sent Events', webSocket: null },
] as const
export type Transport = (typeof TRANSPORTS)[number]

/**
 * Returns a client of the server at the address, as the actor. Uses Server-Sent Events by default. Does not warn on the
 * console.
 */
export const clientOf = (
  address: string,
  tenant: string,
  actor: string,
  { webSocket }: Pick<Transport, 'webSocket'> = TRANSPORTS[1],
  options: Partial<ConnectOptions> = {},
): Client =>
  connect({ url: new URL('/graphql', address).href, tenant, actor, webSocket, onError: () => {}, ...options })

/** Waits until the server, in this process, has executed another mutation. */
export async function nextMutation(): Promise<void> {
  const executed = () => Object.values(counters.operations.mutation).flatMap(({ counts }) => counts)
  const before = executed()
  await expect.poll(executed, { interval: 5 }).not.toEqual(before)
}

/** Pauses of a client before the second and the third attempt to answer a turn, ms. */
const ANSWER_PAUSES = new Set([1_000, 2_000])

/** Makes clients answer again without a pause after a failure. Returns a function that undoes this. */
export function skipAnswerPauses(): () => void {
  const { setTimeout } = globalThis
  // Timers of `fetch`, which must not be skipped, pass arguments to their callbacks.
  const skip = (callback: () => void, ms?: number, ...rest: []) =>
    setTimeout(callback, rest.length === 0 && ANSWER_PAUSES.has(ms!) ? 0 : ms, ...rest)
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(skip)
  return () => spy.mockRestore()
}

/** The events that a follower received: the seqs of entries, and by turn id the texts of deltas and the final texts. */
export type Received = {
  seqs: number[]
  joined: Map<string, string>
  pieces: Map<string, string>
  final: Map<string, string>
}

/** Adds an event. `joined` is the client's joined text; `pieces` joins the deltas here, so repeated deltas differ. */
export function record(received: Received, event: FollowedEvent): void {
  if (event.seq !== null) received.seqs.push(event.seq)
  if (event.__typename === 'TurnDelta') {
    received.joined.set(event.turnId, event.joined)
    received.pieces.set(event.turnId, (received.pieces.get(event.turnId) ?? '') + event.text)
  }
  if (event.__typename === 'TurnCommitted') received.final.set(event.turn.id, event.turn.text)
}

export const newReceived = (): Received => ({ seqs: [], joined: new Map(), pieces: new Map(), final: new Map() })
