// The settings that the server itself reads; a Config has them all.

import type { Config } from '../config/config.ts'

export type ServerConfig = Pick<
  Config,
  'host' | 'port' | 'allowedOrigins' | 'limits' | 'shutdownMs' | 'queryPlans' | 'fastPost'
>
