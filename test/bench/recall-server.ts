// The server with an embedder to which no text means anything: what recall finds by words and circumstances alone. Made
// of the library's parts, as its users would.

import { loadConfig } from '../../src/config/config.ts'
import { createDeps } from '../../src/deps.ts'
import type { Embedder } from '../../src/providers/ports/embedder.ts'
import { createServer } from '../../src/server/http.ts'

const NOTHING: Embedder = {
  name: 'nothing',
  dimension: 1,
  batch: 1000,
  embed: (texts) => Promise.resolve(texts.map(() => new Float32Array(1))),
  close: () => Promise.resolve(),
}

const config = loadConfig()
const { deps, health, close } = await createDeps(config)
// Queries have no direction, so it does not matter which vectors there are. Nothing makes more of them here.
deps.embedding.searched = () => NOTHING
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
