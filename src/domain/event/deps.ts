// Dependencies of a subscription to a conversation.

import type { Platform } from '../platform.ts'
import type { Feeds } from './feed.ts'

export type EventDeps = Platform & { feeds: Feeds }
