// Sends a verb to the REST API: builds the request from the verb's route, as a client without the table would.

import { VERBS, type VerbName } from '../../src/faces/verbs.ts'

export type RestAnswer = { status: number; headers: Headers; body: any }

/** Returns the method, the path and the body of the request for a verb with that input. */
export function restRequest(verb: VerbName, input: Readonly<Record<string, unknown>>) {
  const [method, route] = VERBS[verb].route.split(' ') as [string, string]
  const rest = { ...input }
  const take = (name: string): string => {
    const value = rest[name]
    delete rest[name]
    return encodeURIComponent(String(value))
  }
  let path = route.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name !== 'conversation') return take(name)
    return rest.conversationKey === undefined ? take('conversationId') : `key:${take('conversationKey')}`
  })
  if (method === 'POST' || method === 'PATCH') return { method, path, body: JSON.stringify(rest) }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined) continue
    if (Array.isArray(value)) for (const each of value) query.append(name, String(each))
    else query.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
  }
  if (query.size > 0) path += `?${query}`
  return { method, path, body: undefined }
}

/** Sends a request to the REST API of the server. */
export async function sendRest(
  url: string,
  { method, path, body }: { method: string; path: string; body?: string | undefined },
  headers: Record<string, string> = {},
): Promise<RestAnswer> {
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(`${url}/api/v1${path}`, { method, headers: { ...type, ...headers }, body })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
