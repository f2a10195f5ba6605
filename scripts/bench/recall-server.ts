// Our server with an embedder that returns only zero vectors, to measure recall without vectors. Uses only functions
// that the library exports.

import { loadConfig } from '../../src/config/config.ts'
import { createDeps } from '../../src/deps.ts'
import type { Embedder } from '../../src/providers/ports/embedder.ts'
import { createServer } from '../../src/server/http/http.ts'

const ZERO_EMBEDDER: Embedder = {
  name: 'nothing',
  dimension: 1,
  batch: 1000,
  embed: (texts) => Promise.resolve(texts.map(() => new Float32Array(1))),
  close: () => Promise.resolve(),
}

const config = loadConfig()
const { deps, health, close } = await createDeps(config)
// The vector of every query is zero, so the stored vectors have no effect on the scores.
deps.embedding.serving = () => ZERO_EMBEDDER
const server = createServer(deps, config, health)
process.once(
  'SIGTERM',
  () =>
    void server
      .close()
      .then(close)
      .then(() => process.exit(0)),
)
console.log(JSON.stringify({ url: `http://127.0.0.1:${await server.listen()}/graphql` }))
