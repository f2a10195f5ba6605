// Reads the body of a request that the body gate has admitted, and parses it. Large bodies wait for a gate of their
// tenant before they are parsed and answered.

import type { IncomingMessage } from 'node:http'
import { HEAVY_CONCURRENCY, type TenantGates } from '../../domain/kernel/limits/tenant-gates.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { parseInSteps } from '../../runtime/json/in-steps.ts'

/** Size of a body, in bytes, from which it waits for the tenant's gate `bodies` before it is parsed and answered. */
const LARGE_BODY_BYTES = 32 * 1024
/** Size of a body, in bytes, from which it takes all places of this gate, so that no other is parsed beside it. */
const BATCH_BODY_BYTES = 1024 * 1024
/** Size of the first buffer for a body that arrives in parts, in bytes. */
const FIRST_BUFFER_BYTES = 64 * 1024

/** Limits the number of large bodies that are answered at the same time. */
export type BodyGates = Pick<TenantGates, 'bodies'>

/** Runs `answer` when the gate for a body of that length admits it. @throws QueueFull, or the error of `answer` */
export function passGate(
  gates: BodyGates,
  { tenant }: Viewer,
  length: number,
  answer: () => Promise<void>,
): Promise<void> {
  if (!(length >= LARGE_BODY_BYTES)) return answer()
  return gates.bodies.run(tenant, answer, length < BATCH_BODY_BYTES ? 1 : HEAVY_CONCURRENCY)
}

/** Parses JSON, in steps if it is large. @throws SyntaxError */
export const parseBody = async (body: Buffer): Promise<unknown> =>
  body.length < BATCH_BODY_BYTES ? JSON.parse(String(body)) : parseInSteps(String(body))

/**
 * Resolves when the whole body has arrived; never, if the connection is closed before. A body that arrives in parts is
 * copied into a buffer that grows with it: a buffer of the declared length would let a client occupy memory without
 * sending anything.
 */
export function readBody(request: IncomingMessage, length: number): Promise<Buffer> {
  let body: Buffer = Buffer.alloc(0)
  let received = 0
  request.on('data', (part: Buffer) => {
    if (part.length === length) {
      body = part
      received = length
      return
    }
    if (received + part.length > body.length) {
      const size = Math.max(FIRST_BUFFER_BYTES, 2 * body.length, received + part.length)
      const larger = Buffer.allocUnsafeSlow(Math.min(length, size))
      body.copy(larger, 0, 0, received)
      body = larger
    }
    received += part.copy(body, received)
  })
  return new Promise((resolve) => request.on('end', () => resolve(body.subarray(0, received))))
}
