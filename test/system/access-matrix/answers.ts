// Sends operations of the access matrix over each transport, and removes from answers what differs between tenants:
// ids, cursors, times and tokens.

import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import { PATIENCE_MS } from '../../support/patience.ts'
import type { Request } from './operations.ts'

export type Headers = Record<string, string>

async function* overHttp(url: string, request: Request, headers: Headers): AsyncGenerator<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(request),
  })
  yield await response.text()
}

async function* overEvents(url: string, request: Request, headers: Headers, stop: AbortSignal): AsyncGenerator<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify(request),
    signal: stop,
  })
  let received = ''
  try {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      received += part
      const events = received.split('\n\n')
      received = events.pop()!
      for (const event of events) if (/^data: ?\S/m.test(event)) yield /^data: ?(.*)$/m.exec(event)![1]!
    }
  } catch (error) {
    if (!stop.aborted) throw error
  }
  if (received) yield received
}

const clients = new Map<string, Client>()
async function* overWebSocket(
  url: string,
  request: Request,
  headers: Headers,
  stop: AbortSignal,
): AsyncGenerator<string> {
  const key = `${url} ${JSON.stringify(headers)}`
  let client = clients.get(key)
  if (!client) {
    client = createClient({
      url: `${url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: headers,
      retryAttempts: 0,
    })
    clients.set(key, client)
  }
  const results = client.iterate(request)
  stop.addEventListener('abort', () => void results.return?.())
  try {
    for await (const result of results) yield JSON.stringify(result)
  } catch (errors) {
    yield JSON.stringify({ errors })
  }
}
export async function closeClients(): Promise<void> {
  for (const client of clients.values()) await client.dispose()
  clients.clear()
}

/** Each yields the results as JSON, also if the server refuses the operation. HTTP delivers no subscriptions. */
export const TRANSPORTS = { HTTP: overHttp, WebSocket: overWebSocket, 'Server-Sent Events': overEvents }
export type TransportName = keyof typeof TRANSPORTS

/** Returns all results of an operation that ends. */
export async function answerOf(
  name: TransportName,
  url: string,
  request: Request,
  headers: Headers,
): Promise<string[]> {
  const results: string[] = []
  const { signal } = new AbortController()
  for await (const result of TRANSPORTS[name](url, request, headers, signal)) results.push(result)
  return results
}

/** Starts a subscription, and records its events until it ends. */
export function follow(name: TransportName, url: string, request: Request, headers: Headers) {
  const events: string[] = []
  let hasEnded = false
  let changed = () => {}
  const stop = new AbortController()
  const results = TRANSPORTS[name](url, request, headers, stop.signal)
  const ended = (async () => {
    for await (const event of results) {
      events.push(event)
      changed()
    }
    hasEnded = true
    changed()
  })()
  return {
    events,
    ended,
    /** Waits for an event that contains the text, or for the end of the subscription. */
    async until(part: string): Promise<void> {
      const isThere = () => hasEnded || events.some((event) => event.includes(part))
      let timer: NodeJS.Timeout | undefined
      const timeout = new Promise<never>((_, reject) => {
        const fail = () => reject(new Error(`no event contains "${part}": ${events.join('\n')}`))
        timer = setTimeout(fail, PATIENCE_MS)
      })
      try {
        while (!isThere()) await Promise.race([new Promise<void>((resolve) => (changed = resolve)), timeout])
      } finally {
        clearTimeout(timer)
      }
    },
    stop(): Promise<void> {
      stop.abort()
      return ended
    },
  }
}

/** Returns the normalised results in an order that does not depend on their ids. */
export const allNormalized = (results: readonly string[], hasGaps: boolean): unknown[] =>
  results
    .map((result) => JSON.stringify(normalized(result, hasGaps)))
    .toSorted()
    .map((result) => JSON.parse(result) as unknown)

/** Numbers of journal entries. Private turns increase them too, and a viewer may see the gaps. */
const ENTRY_NUMBERS = /(seq|position|start|end)":\d+/gi
const ENTRY_NUMBERS_IN_MESSAGES = /(the newest (?:journal )?entry (?:of the conversation )?is) \d+/g

/**
 * Parses a result. Replaces ids by their order of occurrence, and removes cursors, times, tokens and tenant names.
 * @param hasGaps whether the numbers of journal entries differ, because private turns are in the same journal
 */
function normalized(answer: string, hasGaps: boolean): unknown {
  const seen = new Map<string, string>()
  const text = answer
    .replace(/"(prof|view)_[^"]+"/g, '"$1"')
    .replace(/"[A-Za-z0-9+/=_-]{40,}"/g, '"CURSOR"')
    .replace(/"((?:\w+_)?(?:cursor|startCursor|endCursor|token|prefix))":"[^"]*"/g, '"$1":"TOKEN"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/user:[0-9a-f]{64}/g, 'USER')
    .replace(/tenant-\d+/g, 'TENANT')
    .replace(/[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      seen.set(id, seen.get(id) ?? `id${seen.size}`)
      return seen.get(id)!
    })
  const comparable = hasGaps ? text.replace(ENTRY_NUMBERS, '$1":0').replace(ENTRY_NUMBERS_IN_MESSAGES, '$1 0') : text
  return JSON.parse(comparable)
}
