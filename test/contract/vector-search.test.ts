// Runs the vector search contract on every implementation.

import { createEmbeddedVectors } from '../../src/store/vectors/embedded-vectors.ts'
import { createPostgresVectors } from '../../src/store/vectors/postgres-vectors.ts'
import { buildVectorIndex } from '../../src/store/vectors/vector-index.ts'
import { backends, embedded } from '../support/backend.ts'
import { vectorSearchContract } from './vector-search.ts'

const postgres = backends.find(({ name }) => name === 'postgres')

vectorSearchContract('in memory', embedded, async ({ deps }) => createEmbeddedVectors(deps.db))
vectorSearchContract('in memory, with a cache too small for any conversation', embedded, async ({ deps }) =>
  createEmbeddedVectors(deps.db, { cacheBytes: 100 }),
)
if (postgres) {
  vectorSearchContract('on Postgres', postgres, async ({ deps }) => createPostgresVectors(deps.db))
  vectorSearchContract('on Postgres, always using the index', postgres, async ({ deps, url }) => {
    for (const from of [0, 20]) {
      await buildVectorIndex(url!, { name: 'test:4', dimension: 4 }, { from, to: from + 20, rows: 100 })
    }
    return createPostgresVectors(deps.db, { exactTurns: 0 })
  })
}
