// The context value of resolvers. Each request, and each event of a subscription, gets its own.

import type DataLoader from 'dataloader'
import type { GraphQLResolveInfo } from 'graphql'
import type { Deps } from '../../domain/deps.ts'
import type { PresenceHolder } from '../../domain/conversation/presence.ts'
import type { Page } from '../../domain/kernel/page.ts'
import { onReplica } from '../../domain/kernel/replica.ts'
import type { TurnJsonPage } from '../../domain/turn/history.ts'
import type { Turn } from '../../domain/turn/turn.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import type { JsonText } from '../../runtime/json/text.ts'
import type { OperationLimits } from './limits/limits.ts'
import { Work, type Client } from './limits/work.ts'

/** Batch loaders by name and arguments (loaders.ts). */
type Loaders = Map<string, DataLoader<never, unknown, string>>

/** A list that was rendered as JSON, and its path in the result of the operation. */
type RenderedList = { path: GraphQLResolveInfo['path']; list: JsonText }

export type RequestContext = {
  deps: Deps
  /** `deps` with connections whose statements have the time limit of reads. */
  reading: Deps
  /** The actor that sent the operation, as determined by the transport. Limits apply per principal. */
  readonly principal: Viewer
  /** The viewer of the operation: the principal, or the actor in `as` (view/enter.ts). */
  viewer: Viewer
  /** Owner of the presence states set over the socket, which end when the socket closes. Null over HTTP. */
  holder: PresenceHolder | null
  loaders: Loaders
  /** Pages of turns that were read with their conversation, by id, arguments and template. */
  turnsAhead?: Map<string, Page<Turn> | TurnJsonPage>
  /** Lists that were rendered as JSON. The executor (executor.ts) adds them to the result; undefined in another executor. */
  rendered?: RenderedList[]
  /**
   * Counts and limits the work of the operation. Every read that may return a large amount of data uses `work.read`.
   */
  work: Work
}

/** The `reading` of each `deps`, which is created once. */
const readings = new WeakMap<Deps, Deps>()

function readingOf(deps: Deps): Deps {
  const existing = readings.get(deps)
  if (existing) return existing
  const { pool, db } = deps.reads
  const reading = { ...deps, pool, db }
  readings.set(deps, reading)
  return reading
}

/** The connection of a request: its presence holder, null for none, and its client (see Work). */
type Connection = { holder?: PresenceHolder | null | undefined; client?: Client | undefined }

/** Creates a context. It is cheap, because loaders are created on first use. */
export function createRequestContext(
  deps: Deps,
  principal: Viewer,
  limits: OperationLimits,
  { holder = null, client }: Connection = {},
): RequestContext {
  const { clock, gates, reads, answers } = deps
  const work = new Work(limits, clock, client, { gates, reads, answers, viewer: principal })
  return { deps, reading: readingOf(deps), principal, viewer: principal, holder, loaders: new Map(), work }
}

/**
 * Reads large amounts of data: on the replica if it has replayed the writes that the read must see, or otherwise on the
 * primary.
 * @param conversationId see onReplica
 */
export const readOnReplica = <T>(
  { reading, viewer, work }: RequestContext,
  conversationId: string | null,
  read: (deps: Deps) => Promise<T>,
): Promise<T> => work.read(() => onReplica(reading, viewer, conversationId, read))
