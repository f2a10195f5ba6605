// The settings that the server reads.

import type { Config } from '../config/config.ts'

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
  | 'shutdownMs'
  | 'fastPost'
>
