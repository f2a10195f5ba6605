// Sends a value as the JSON of a response. A large value is serialised in steps and sent in pieces, so that it does not
// block the event loop.

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { stringifyInSteps } from '../../runtime/json/in-steps.ts'
import { stringify } from '../../runtime/json/text.ts'
import { yieldToEventLoop } from '../../runtime/yield.ts'
import { LARGE_ANSWER_BYTES } from '../load/large-answers.ts'

/** Sends one piece in each iteration of the event loop, because sending many at once would block it. */
async function sendPieces(response: ServerResponse, pieces: readonly Buffer[]): Promise<void> {
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  for (const piece of pieces) {
    if (response.destroyed) return
    if (!response.write(piece)) await Promise.race([new Promise((resolve) => response.once('drain', resolve)), closed])
    await yieldToEventLoop()
  }
  response.end()
}

/** @param bytes approximate size of the value's JSON */
export async function sendJson(
  response: ServerResponse,
  { status, headers }: { status: number; headers: OutgoingHttpHeaders },
  value: object,
  bytes: number,
): Promise<void> {
  const pieces = bytes < LARGE_ANSWER_BYTES ? [Buffer.from(stringify(value))] : await stringifyInSteps(value)
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  response.writeHead(status, { ...headers, 'content-length': length })
  if (pieces.length === 1) response.end(pieces[0])
  // Not awaited, because a client that reads slowly must not delay other requests of its tenant.
  else void sendPieces(response, pieces)
}
