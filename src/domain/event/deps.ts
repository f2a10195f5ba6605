// What subscribing to a conversation needs.

import type { Platform } from '../platform.ts'
import type { Feeds } from './feed.ts'

export type EventDeps = Platform & { feeds: Feeds }
