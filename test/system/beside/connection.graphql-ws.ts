// A bare client of graphql-ws, and requests that are repeated after a lost connection.

import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'

export type Options = { url: string; tenant: string; actor: string }

export const open = ({ url, tenant, actor }: Options): Client =>
  createClient({
    url: url.replace(/^http/, 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: { 'x-tenant': tenant, 'x-actor': actor },
    retryAttempts: Infinity,
    shouldRetry: () => true,
  })

/** Sends a query or mutation, and repeats it after a lost connection. */
export async function ask(client: Client, query: string, variables: Record<string, unknown>): Promise<any> {
  for (;;) {
    try {
      for await (const { data, errors } of client.iterate<Record<string, any>>({ query, variables })) {
        if (errors) throw new Error(errors[0]!.message)
        const [result] = Object.values(data!)
        if (result?.code) throw Object.assign(new Error(result.message), { code: result.code })
        return result
      }
    } catch (error) {
      if (error instanceof Error) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
