// A PostGraphile server over two plain tables, in a process of its own, with its caches of parsed queries. It prints
// its URL.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadPeer } from './install.ts'

type Postgraphile = (
  url: string,
  schema: string,
  options: object,
) => (request: IncomingMessage, response: ServerResponse) => unknown

const { postgraphile } = loadPeer('postgraphile') as { postgraphile: Postgraphile }
const handle = postgraphile(process.env.DATABASE_URL!, 'public', {
  disableQueryLog: true,
  enableCors: false,
  graphiql: false,
  ignoreRBAC: true,
  dynamicJson: true,
})
const server = createServer((request, response) => void handle(request, response))
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
})
process.once('SIGTERM', () => process.exit())
