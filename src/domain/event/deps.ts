// The dependencies of subscriptions to a conversation's events.

import type { Platform } from '../platform.ts'
import type { Feeds } from './feed.ts'

export type EventDeps = Platform & { feeds: Feeds }
