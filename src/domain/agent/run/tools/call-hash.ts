// The hash of a tool call: what an approval approves. Clients can compute it, so its form must not change.

import { createHash } from 'node:crypto'
import type { ProviderToolCall } from '../../../../providers/ports/provider-adapter.ts'
import { canonicalJson } from '../../../kernel/merge-patch.ts'
import { partsOf } from '../../../turn/content.ts'

/**
 * Returns the SHA-256 hash, 64 lower-case hexadecimal digits, of `{"arguments":…,"callId":…,"toolName":…}` in the
 * canonical form of RFC 8785, in UTF-8. Takes the arguments as they are stored: JSON that Postgres has read and printed.
 */
export const callHash = ({ id: callId, name: toolName, arguments: given }: ProviderToolCall): string =>
  createHash('sha256')
    .update(canonicalJson({ arguments: given, callId, toolName }))
    .digest('hex')

/** Returns the tool calls in the content of a turn, in their order. */
export const callsIn = (turn: { text: string; parts: unknown }): ProviderToolCall[] =>
  partsOf(turn).flatMap((part) =>
    part.type === 'toolCall' ? [{ id: part.callId, name: part.name, arguments: part.arguments }] : [],
  )

/** Returns the hash of a call in the content of a turn; null if the turn does not make the call. */
export function hashOfCall(turn: { text: string; parts: unknown } | null | undefined, callId: string): string | null {
  const call = turn ? callsIn(turn).find(({ id }) => id === callId) : undefined
  return call ? callHash(call) : null
}
