// Dependencies of the functions that build contexts.

import type { RecallDeps } from '../recall/deps.ts'
import type { SizeCache } from './budget/size-cache.ts'
import type { TurnGuesses } from './material/turn-guesses.ts'

export type ContextDeps = RecallDeps & { sizes: SizeCache; turnGuesses: TurnGuesses }
