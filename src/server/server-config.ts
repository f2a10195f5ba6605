// The settings that the server reads. A file of its own, because the package declares this type, and the declarations of
// the files that read the settings refer to graphql-yoga, whose types the package does not contain.

import type { Config } from '../config/config.ts'

/** The part of Config that `createServer` reads. */
export type ServerConfig = Pick<
  Config,
  | 'host'
  | 'port'
  | 'allowedOrigins'
  | 'authentication'
  | 'limits'
  | 'operationLimits'
  | 'batchBodyBytes'
  | 'bodyTimeoutMs'
  | 'bodyRate'
  | 'trustedProxies'
  | 'writeTimeoutMs'
  | 'socketsPerViewer'
  | 'maxQueueMs'
  | 'graphiql'
  | 'webApp'
  | 'shutdownMs'
  | 'fastPost'
  | 'files'
>
