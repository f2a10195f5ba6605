// The doors besides that of GraphQL, each loaded when the first request for it arrives.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQLError } from 'graphql'
import type { Deps } from '../../../domain/deps.ts'
import type { Protocol } from '../../../faces/paths.ts'
import type { Yoga } from '../../graphql/yoga.ts'
import type { EventStreams } from '../../live/event-stream.ts'
import type { Agui } from './agui.ts'
import type { Door } from './door.ts'
import type { Mcp } from './mcp.ts'
import type { Rest } from './rest.ts'

type Services = {
  deps: Deps
  yoga: Yoga
  streams: EventStreams
  /** Logs an unexpected error, and returns an error that hides it from clients. */
  mask(error: unknown): GraphQLError
  /** Answers a request whose handling has rejected. */
  fail(response: ServerResponse): (error: unknown) => void
}

export type Doors = {
  /** Returns the door of a request for the protocol; null if the request has been answered. */
  at(
    protocol: Exclude<Protocol, 'graphql'>,
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<Door | null>
  /** Ends all streams, so that their clients connect again. */
  close(): void
}

export function createDoors(services: Services): Doors {
  let rest: Promise<Rest> | undefined
  let mcp: Promise<Mcp> | undefined
  let agui: Promise<Agui> | undefined
  return {
    async at(protocol, request, response, path) {
      switch (protocol) {
        case 'mcp':
          mcp ??= import('./mcp.ts').then(({ createMcp }) => createMcp(services))
          return (await mcp).door
        case 'agui':
          agui ??= import('./agui.ts').then(({ createAgui }) => createAgui(services))
          return (await agui).door
        case 'rest':
          rest ??= import('./rest.ts').then(({ createRest }) => createRest(services))
          // The REST API answers a request that has no door.
          return (await rest).enter(request, response, path)
      }
    },
    close() {
      void mcp?.then(({ close }) => close())
      void agui?.then(({ close }) => close())
    },
  }
}
