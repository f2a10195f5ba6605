// Errors of the protocol. The SDK sends the code, the message and the data of a thrown error; those of its own class
// McpError repeat the code in the message.

import { ErrorCode } from '@modelcontextprotocol/sdk/types.js'

/** The codes of the protocol that the server uses. */
export const RPC_CODES = {
  invalidRequest: ErrorCode.InvalidRequest,
  invalidParams: ErrorCode.InvalidParams,
  internal: ErrorCode.InternalError,
  resourceNotFound: -32002,
  /** A verb failed for another reason. `data.code` is the code of the GraphQL API. */
  failed: -32000,
} as const

export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: Readonly<Record<string, unknown>> | undefined
  constructor(code: keyof typeof RPC_CODES, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message)
    this.code = RPC_CODES[code]
    this.data = data
  }
}
