// Finds settings that are unsafe in production. A server on a loopback address is for development. Pure.

import type { Config } from '../config/config.ts'
import { isLoopback } from '../runtime/fields.ts'
import { ok, warning, type Finding } from './finding.ts'

type Rule = { applies(config: Config): boolean; message: string; next: string }

const isPublic = ({ host }: Config) => !isLoopback(host)

const RULES: Record<string, Rule> = {
  authentication: {
    applies: (config) => isPublic(config) && !config.authentication.isRequired,
    message: 'every client that reaches the address can read and write as any actor',
    next: 'set AUTH_MODE to keys or jwt',
  },
  echo: {
    applies: (config) => isPublic(config) && Object.values(config.chatProviders).some(({ kind }) => kind === 'echo'),
    message: 'each message can script the replies of the chat provider echo',
    next: 'unset ECHO_PROVIDER',
  },
  introspection: {
    applies: (config) => isPublic(config) && (config.operationLimits.introspection || config.graphiql),
    message: 'clients on the network may read the schema, or use GraphiQL',
    next: 'unset INTROSPECTION and GRAPHIQL',
  },
  metrics: {
    applies: ({ metricsPort, metricsHost }) => metricsPort !== undefined && !isLoopback(metricsHost),
    message: '/metrics has no authentication, and is served on the network',
    next: 'set METRICS_HOST to an address that only the collector reaches',
  },
  'rate limit': {
    applies: (config) => isPublic(config) && config.rateLimitPoints === 0,
    message: 'one viewer may use all of the server',
    next: 'set RATE_LIMIT_POINTS',
  },
  'audit log': {
    applies: (config) => isPublic(config) && config.integrityKey === undefined,
    message: 'the audit log has plain hashes, and receipts of erasures are not signed',
    next: 'set INTEGRITY_KEY',
  },
  durability: {
    applies: (config) => isPublic(config) && !config.databaseUrl,
    message: 'writes to the embedded database do not survive a power failure',
    next: 'set DATABASE_URL to use Postgres',
  },
}

/** Returns a warning for each unsafe setting, or one finding that there is none. */
export function inspectSettings(config: Config): Finding[] {
  const unsafe = Object.entries(RULES).filter(([, { applies }]) => applies(config))
  if (unsafe.length === 0) {
    const where = isPublic(config) ? 'safe for a network' : `for this machine only, because HOST is ${config.host}`
    return [ok('settings', `valid, and ${where}`)]
  }
  return unsafe.map(([check, { message, next }]) => warning(check, message, next))
}
