// Dependencies of the background work.

import type { Files } from '../conversation/attachment/attachment.ts'
import type { FactDeps } from '../memory/fact/deps.ts'
import type { RunDeps } from '../agent/run/deps.ts'
import type { StreamDeps } from '../turn/streaming/delta-queue.ts'

export type BackgroundDeps = FactDeps & StreamDeps & RunDeps & { files: Files }
