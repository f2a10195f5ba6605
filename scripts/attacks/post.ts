// Sends the requests of the worker processes of a check.

import { request, type Agent } from 'node:http'
import type { PostOptions } from './target.ts'

/** A request of a worker. */
export type WorkerPost = Required<Pick<PostOptions, 'tenant' | 'actor'>> & { isBatch?: boolean; body: string }

/**
 * Sends a request to the server at the port. Resolves with the response, or with status 0 if the server closes the
 * connection, as it may while a body is sent.
 */
export function post(
  port: number,
  agent: Agent,
  { tenant, actor, isBatch = false, body }: WorkerPost,
): Promise<{ status: number; body: string }> {
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-tenant': tenant,
    'x-actor': actor,
    ...(isBatch && { 'x-batch': '1' }),
  }
  return new Promise((resolve, reject) => {
    const sent = request({ port, agent, path: '/graphql', method: 'POST', headers }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => void parts.push(part))
      response.once('error', reject)
      response.once('end', () => resolve({ status: response.statusCode!, body: Buffer.concat(parts).toString() }))
    })
    sent.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || error.code === 'ECONNRESET') resolve({ status: 0, body: '' })
      else reject(error)
    })
    sent.end(body)
  })
}
