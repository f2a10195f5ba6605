// The HTTP server of GET /metrics. It has its own port, so that clients of the GraphQL server cannot read the metrics.

import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from '../../config/config.ts'
import type { Measured } from './metrics.ts'
import { createRegistry } from './metrics-registry.ts'
import { refuse, UNKNOWN_PATH } from '../http/refuse.ts'
import { targetOf } from '../http/parameters.ts'

export type MetricsServer = {
  /** Starts listening and resolves with the port. Rejects if the port is in use. */
  listen(): Promise<number>
  /** Closes all connections. */
  close(): Promise<void>
}

/** Maximum number of open connections. */
const MAX_CONNECTIONS = 20
/** Time within which a request must arrive, ms. */
const REQUEST_TIMEOUT_MS = 5_000

export function createMetricsServer(
  measured: Measured,
  { metricsPort, metricsHost }: Pick<Config, 'metricsHost'> & { metricsPort: number },
): MetricsServer {
  const registry = createRegistry(measured)
  const http = createHttpServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      if (targetOf(request.url)?.path !== '/metrics') {
        return refuse(response, { ...UNKNOWN_PATH, message: 'Unknown path. Metrics are at /metrics.' })
      }
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const message = 'Metrics are read with GET.'
        return refuse(response, { status: 405, code: 'BAD_REQUEST', message, allow: 'GET, HEAD' })
      }
      // A metric that cannot be read has no samples, so this promise does not reject.
      void registry.metrics().then((text) => {
        response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text)
      })
    },
  )
  http.maxConnections = MAX_CONNECTIONS
  return {
    listen: () =>
      new Promise((resolve, reject) => {
        http.once('error', reject)
        http.listen(metricsPort, metricsHost, () => resolve((http.address() as AddressInfo).port))
      }),
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      }),
  }
}
