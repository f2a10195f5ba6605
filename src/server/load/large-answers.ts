// Serialises the large answers of yoga in steps and sends them in pieces, like doors/graphql.ts. One string and one
// buffer of the whole answer would take several times the memory of its share (graphql/kernel/limits/answer-share.ts),
// and block the event loop.

import { Readable } from 'node:stream'
import type { ExecutionResult } from 'graphql'
import { isAsyncIterable, processRegularResult, type Plugin } from 'graphql-yoga'
import { isLargerThan, stringifyInSteps } from '../../runtime/json/in-steps.ts'
import { withoutHttp } from '../graphql/failures.ts'

/** Size of an answer, in bytes or UTF-16 units, from which it is serialised in steps. */
export const LARGE_ANSWER_BYTES = 512 * 1024

const bytesOf = (pieces: readonly Buffer[]) => pieces.reduce((sum, piece) => sum + piece.length, 0)

/** Returns the pieces as the only part of a multipart response, with the boundary of yoga. */
const inMultipart = (pieces: readonly Buffer[]): Buffer[] => [
  Buffer.from(`\r\n---\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${bytesOf(pieces)}\r\n\r\n`),
  ...pieces,
  Buffer.from('\r\n-----\r\n'),
]

/**
 * A yoga plugin. Yoga formats the result without its JSON, and the plugin then sets the body. It must follow the plugins
 * that change results.
 */
export function useLargeAnswers(): Plugin {
  const bodies = new WeakMap<Request, Buffer[]>()
  return {
    async onResultProcess({ request, result, resultProcessor, setResult }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return
      const { data, errors, extensions } = result as ExecutionResult
      if (!resultProcessor || !isLargerThan(data, LARGE_ANSWER_BYTES)) return
      const { http, ...rest } = (extensions ?? {}) as { http?: object }
      const extended = Object.keys(rest).length > 0 ? { extensions: rest } : {}
      const pieces = await stringifyInSteps({ ...(errors && { errors: errors.map(withoutHttp) }), data, ...extended })
      bodies.set(request, resultProcessor === processRegularResult ? pieces : inMultipart(pieces))
      setResult({ ...result, stringify: () => '' })
    },
    onResponse({ request, response, setResponse, fetchAPI }) {
      const pieces = bodies.get(request)
      if (!pieces) return
      const { status, statusText } = response
      const headers = new fetchAPI.Headers(response.headers)
      if (!headers.has('transfer-encoding')) headers.set('content-length', String(bytesOf(pieces)))
      setResponse(new fetchAPI.Response(Readable.from(pieces) as never, { status, statusText, headers }))
    },
  }
}
