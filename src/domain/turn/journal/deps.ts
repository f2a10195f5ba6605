// The dependencies of subscriptions to a conversation's events.

import type { Platform } from '../../kernel/platform.ts'
import type { Feeds } from './feeds.ts'

export type EventDeps = Platform & { feeds: Feeds }
