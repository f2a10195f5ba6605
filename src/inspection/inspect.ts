// Inspects an installation by its settings, without a running server: what is configured, reachable, migrated, indexed,
// behind, and unsafe. Each check has a time limit, and none writes.

import type { Config } from '../config/config.ts'
import { inspectDatabase } from './database.ts'
import type { Finding } from './finding.ts'
import { inspectEmbedder, inspectModels, inspectRedis, inspectReranker } from './services.ts'
import { inspectSettings } from './settings.ts'

export type { Finding } from './finding.ts'

export type Inspection = {
  findings: Finding[]
  /** Whether another process has the embedded database open, so that only that process can be asked for more. */
  isInUse: boolean
}

export async function inspect(config: Config): Promise<Inspection> {
  const [{ name, findings: embedder }, redis, reranker, models] = await Promise.all([
    inspectEmbedder(config),
    inspectRedis(config),
    inspectReranker(config),
    inspectModels(config),
  ])
  const { findings: database, isInUse } = await inspectDatabase(config, name)
  return { findings: [...inspectSettings(config), ...database, ...redis, ...embedder, ...reranker, ...models], isInUse }
}
