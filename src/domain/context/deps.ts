// Dependencies of the functions that build contexts.

import type { RecallDeps } from '../recall/deps.ts'
import type { SizeCache } from './size-cache.ts'

export type ContextDeps = RecallDeps & { sizes: SizeCache }
