// The settings of the process, parsed from the environment by one schema into a frozen Config. Only files in src/config
// read process.env.

import { z } from 'zod'
import { authenticationCheck, authenticationOf, authenticationVariables } from './authentication.ts'
import { automaticOf, automaticVariables } from './automatic-thresholds.ts'
import { callDefaultsOf, defaultVariables } from './call-defaults.ts'
import { chatProviderCheck, chatProvidersOf, chatProviderVariables, readProvidersFile } from './chat-providers.ts'
import { filesCheck, filesOf, fileVariables } from './files.ts'
import { operationLimitsOf, operationVariables } from './operation-limits.ts'
import {
  directory,
  flag,
  host,
  isLoopback,
  networks,
  number,
  oneOf,
  optionalFlag,
  origins,
  url,
  whole,
} from '../runtime/fields.ts'
import { providerChecks, providersOf, providerVariables } from './providers.ts'
import { retentionCheck, retentionOf, retentionVariables } from './retention.ts'
import { redactPatterns } from './redact-patterns.ts'
import { ConfigError, layer, type SettingsFile } from './settings-file.ts'
import { fileVariable, isSecret, readSecretFiles } from './secret-files.ts'

const MiB = 1024 * 1024

const environment = z.object({
  PORT: whole(0, 65535, 4000).describe('TCP port; 0 selects a free one.'),
  HOST: host
    .prefault('127.0.0.1')
    .describe('Address to listen on. Addresses other than loopback require `AUTH_MODE`, or `ALLOW_UNAUTHENTICATED=1`.'),
  METRICS_PORT: number(0, 65535)
    .optional()
    .describe('TCP port of `GET /metrics`, for Prometheus; 0 selects a free one. Unset: there are no metrics.'),
  METRICS_HOST: host
    .prefault('127.0.0.1')
    .describe('Address of `/metrics`. There is no authentication: only the collector should reach it.'),
  DATA_DIR: z.string().prefault('.colloquy').describe('Directory of the embedded database.'),
  DATABASE_URL: url('postgres', 'postgresql').describe('URL of Postgres. Unset: the embedded database.'),
  MIGRATION_DATABASE_URL: url('postgres', 'postgresql').describe(
    'URL of Postgres with the user who owns the tables and applies migrations. Unset: `DATABASE_URL`.',
  ),
  DATABASE_PARTITIONS: number(2, 64)
    .optional()
    .describe(
      'Number of partitions of the tables of turns, journals and vectors, by a hash of the conversation. It is chosen when a '
        + 'database is created on `DATABASE_URL`, and cannot be changed. Unset: a new database has no partitions.',
    ),
  DATABASE_READ_URL: url('postgres', 'postgresql').describe(
    'URL of a streaming replica of `DATABASE_URL`. Recall and contexts read from it once it has replayed the writes '
      + 'that the read requires. Unset: they read from `DATABASE_URL`.',
  ),
  DATABASE_POOL_SIZE: whole(6, 200, 10).describe(
    'Maximum number of connections to Postgres from this process. A third is reserved for appends and deltas, and a '
      + 'third for other writes and background work.',
  ),
  READ_TIMEOUT_SECONDS: whole(1, 600, 10).describe(
    'Seconds after which Postgres cancels a read of a request. Writes, background work and migrations have other '
      + 'limits; the embedded database has none.',
  ),
  REDIS_URL: url('redis', 'rediss').describe(
    'URL of the Redis that connects several processes. Unset: there is only one process.',
  ),
  ...providerVariables,
  ...chatProviderVariables,
  PROMPTS_DIR: directory.describe(
    'Directory of prompts that replace those of the same file name in `src/providers/openai/prompts`. Unset: no '
      + 'prompts are replaced.',
  ),
  REDACT: oneOf('off', 'facts', 'turns')
    .prefault('off')
    .describe(
      'Data to redact before it is stored: none (`off`), facts (`facts`), or also turns, metadata, titles and display '
        + 'names (`turns`). Redaction removes e-mail addresses, card, account and phone numbers, IP addresses and '
        + 'credentials. Tenants can choose a stricter value with `updateTenantSettings`.',
    ),
  REDACT_PATTERNS_FILE: redactPatterns.describe(
    'JSON file with further patterns for `REDACT`: an object from names to RE2 patterns. Unset: only the built-in ones.',
  ),
  ...automaticVariables,
  ...defaultVariables,
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')
    .prefault('info')
    .describe('Minimum severity of log messages.'),
  ...authenticationVariables,
  ALLOW_UNAUTHENTICATED: flag('false').describe(
    'Whether a server that does not authenticate clients may listen on addresses other than loopback.',
  ),
  ALLOWED_ORIGINS: origins.describe(
    'Further web origins whose pages may call the server, separated by commas. Unset: only its own origin, if its name '
      + 'is `localhost`, `HOST` or an IP address.',
  ),
  TRUSTED_PROXIES: networks.describe(
    'Proxies whose `X-Forwarded-For` is read: addresses and networks, separated by commas. Unset: none.',
  ),
  CONVERSATION_VISIBILITY: oneOf('OPEN', 'MEMBERS')
    .optional()
    .describe(
      'Visibility of conversations that are created without `visibility`: `OPEN` (seen by every actor of the tenant) '
        + 'or `MEMBERS` (seen only by present and former participants). Unset: `OPEN` if `AUTH_MODE` is `none`, '
        + 'otherwise `MEMBERS`.',
    ),
  MAX_TURN_BYTES: whole(1, 64 * MiB, 262144).describe('Maximum content of one turn, in bytes of UTF-8.'),
  MAX_BATCH_TURNS: whole(1, 10000, 1000).describe('Maximum number of turns appended by one call.'),
  MAX_PAGE_SIZE: whole(1, 10000, 200).describe('Maximum number of items on one page of a list.'),
  MAX_BODY_BYTES: whole(1024, 256 * MiB, MiB).describe('Maximum body of one HTTP request, in bytes.'),
  MAX_BATCH_BODY_BYTES: whole(1024, 256 * MiB, 16 * MiB).describe(
    'Maximum body, in bytes, of one HTTP request with the header `x-batch: 1` whose operation selects only '
      + '`appendTurns`, `recordFacts` and `continueImport`.',
  ),
  BODY_TIMEOUT_SECONDS: whole(1, 600, 30).describe('Seconds within which the body of a request must arrive.'),
  MIN_BODY_BYTES_PER_SECOND: whole(0, MiB, 4096).describe(
    'Minimum average rate of a body, in bytes per second, after 5 seconds (or half of `BODY_TIMEOUT_SECONDS`); 0: none.',
  ),
  WRITE_TIMEOUT_SECONDS: whole(1, 600, 30).describe(
    'Seconds after which a connection is closed if its client does not accept waiting data.',
  ),
  MAX_SOCKETS_PER_VIEWER: whole(1, 100_000, 200).describe('Maximum number of open WebSockets of one viewer.'),
  MAX_FRAME_BYTES: whole(1024, 256 * MiB, MiB).describe(
    'Maximum size of one WebSocket message from a client, in bytes.',
  ),
  MAX_QUEUE_MS: whole(0, 60_000, 500).describe(
    'Maximum wait of requests in the queues of the process, in milliseconds. If the wait exceeds it for a second or '
      + 'more, further requests are refused with `SERVER_BUSY`; 0: none are refused.',
  ),
  ...operationVariables,
  STREAM_LEASE_SECONDS: whole(1, 3600, 30).describe(
    'Seconds without a delta or heartbeat after which a streaming turn is aborted, if `openTurn` has no `leaseSeconds`.',
  ),
  RUN_SECONDS: whole(1, 3600, 600).describe(
    'Maximum time, in seconds, for which a process executes a run of an agent; a run that has neither ended nor '
      + 'started to wait by then fails.',
  ),
  PRESENCE_TTL_SECONDS: whole(1, 3600, 60).describe('Seconds after which presence expires unless it is renewed.'),
  ...retentionVariables,
  ...fileVariables,
  GRAPHIQL: optionalFlag.describe(
    'Whether to serve GraphiQL at `/graphiql`. Unset: only if `HOST` is a loopback address.',
  ),
  WEB_APP: flag('true').describe('Whether to serve the web app at `/`.'),
  FAST_POST: flag('true').describe('Whether POST requests with a known document bypass the GraphQL HTTP handler.'),
  SHUTDOWN_SECONDS: whole(1, 600, 10).describe(
    'Maximum time, in seconds, for running requests to finish when the process is stopped.',
  ),
})

/**
 * Condition under which a check of several variables runs: the named variables are valid. Other invalid variables do
 * not prevent the check, so that one error lists all problems.
 */
const unlessInvalid =
  (...names: string[]) =>
  ({ issues }: { issues: { path?: PropertyKey[] }[] }) =>
    !issues.some(({ path }) => names.includes(String(path?.[0])))

const checked = environment.refine(
  ({ HOST, AUTH_MODE, ALLOW_UNAUTHENTICATED }) => isLoopback(HOST) || AUTH_MODE !== 'none' || ALLOW_UNAUTHENTICATED,
  {
    path: ['HOST'],
    error: 'listening on a network requires AUTH_MODE, or ALLOW_UNAUTHENTICATED=1 to do without authentication',
    when: unlessInvalid('HOST', 'AUTH_MODE', 'ALLOW_UNAUTHENTICATED'),
  },
)

const partitionCheck = {
  variables: ['DATABASE_PARTITIONS', 'DATABASE_URL'],
  problems: ({ DATABASE_PARTITIONS, DATABASE_URL }: z.output<typeof environment>): [string, string][] =>
    DATABASE_PARTITIONS !== undefined && !DATABASE_URL ? [['DATABASE_PARTITIONS', 'requires DATABASE_URL']] : [],
}

const schema = [...providerChecks, partitionCheck, authenticationCheck, chatProviderCheck, retentionCheck, filesCheck]
  .reduce(
    (checks, { variables, problems }) =>
      checks.superRefine(
        (env, { addIssue }) => {
          for (const [name, message] of problems(env)) addIssue({ code: 'custom', path: [name], message })
        },
        { when: unlessInvalid(...variables) },
      ),
    checked,
  )
  .transform((env) => ({
    port: env.PORT,
    host: env.HOST,
    metricsPort: env.METRICS_PORT,
    metricsHost: env.METRICS_HOST,
    dataDir: env.DATA_DIR,
    databaseUrl: env.DATABASE_URL,
    databaseReadUrl: env.DATABASE_READ_URL,
    migrationDatabaseUrl: env.MIGRATION_DATABASE_URL,
    databasePartitions: env.DATABASE_PARTITIONS,
    redisUrl: env.REDIS_URL,
    ...providersOf(env),
    chatProviders: chatProvidersOf(env),
    promptsDir: env.PROMPTS_DIR,
    redact: env.REDACT,
    redactPatterns: env.REDACT_PATTERNS_FILE,
    automatic: automaticOf(env),
    defaults: Object.freeze(callDefaultsOf(env)),
    logLevel: env.LOG_LEVEL,
    authentication: authenticationOf(env),
    firstKeyFile: env.FIRST_KEY_FILE,
    allowUnauthenticated: env.ALLOW_UNAUTHENTICATED,
    allowedOrigins: env.ALLOWED_ORIGINS,
    trustedProxies: env.TRUSTED_PROXIES,
    conversationVisibility: env.CONVERSATION_VISIBILITY ?? (env.AUTH_MODE === 'none' ? 'OPEN' : 'MEMBERS'),
    databasePoolSize: env.DATABASE_POOL_SIZE,
    readTimeoutMs: env.READ_TIMEOUT_SECONDS * 1000,
    limits: {
      turnBytes: env.MAX_TURN_BYTES,
      batchTurns: env.MAX_BATCH_TURNS,
      pageSize: env.MAX_PAGE_SIZE,
      bodyBytes: env.MAX_BODY_BYTES,
      frameBytes: env.MAX_FRAME_BYTES,
    },
    operationLimits: Object.freeze(operationLimitsOf(env)),
    rateLimitPoints: env.RATE_LIMIT_POINTS,
    batchBodyBytes: env.MAX_BATCH_BODY_BYTES,
    bodyTimeoutMs: env.BODY_TIMEOUT_SECONDS * 1000,
    bodyRate: env.MIN_BODY_BYTES_PER_SECOND,
    writeTimeoutMs: env.WRITE_TIMEOUT_SECONDS * 1000,
    socketsPerViewer: env.MAX_SOCKETS_PER_VIEWER,
    maxQueueMs: env.MAX_QUEUE_MS,
    graphiql: env.GRAPHIQL ?? isLoopback(env.HOST),
    webApp: env.WEB_APP,
    streamLeaseMs: env.STREAM_LEASE_SECONDS * 1000,
    runMs: env.RUN_SECONDS * 1000,
    presenceTtlMs: env.PRESENCE_TTL_SECONDS * 1000,
    ...retentionOf(env),
    files: Object.freeze(filesOf(env)),
    fastPost: env.FAST_POST,
    shutdownMs: env.SHUTDOWN_SECONDS * 1000,
  }))

/**
 * Checked settings. Without databaseUrl, the embedded database in dataDir is used; without redisUrl, there is one
 * process.
 */
export type Config = z.output<typeof schema>

/**
 * The variables, in the order of docs/configuration.md. `default` is undefined for a variable without one; `meaning`
 * then describes the effect of leaving the variable unset.
 */
export const variables = Object.entries(environment.shape).map(([name, field]) => ({
  name,
  default: 'defaultValue' in field.def ? String(field.def.defaultValue) || undefined : undefined,
  meaning: field.description ?? '',
}))

/** The variables that name secret files. @internal */
export const secretFileVariables = variables.filter(({ name }) => isSecret(name)).map(({ name }) => fileVariable(name))

/**
 * Parses the environment, the settings file below it, and the secret files that both name. An empty variable counts as
 * unset. @throws ConfigError
 */
export function loadConfig(
  env: Record<string, string | undefined> = process.env,
  settingsFile: SettingsFile | null = null,
): Config {
  const layered = layer(env, settingsFile, Object.keys(environment.shape))
  const set = Object.fromEntries(Object.entries(layered.env).filter(([, value]) => value !== ''))
  const secrets = readSecretFiles(set, Object.keys(environment.shape))
  const providers = readProvidersFile(secrets.env)
  const { data, error } = schema.safeParse(secrets.env)
  if (error || secrets.problems.size > 0 || providers.problems.length > 0 || layered.problems.length > 0) {
    const problems = (error?.issues ?? []).flatMap(({ path, message }) => {
      const name = String(path[0])
      if (secrets.problems.has(name)) return []
      if (set[fileVariable(name)] !== undefined && isSecret(name)) return `${name}, read from a file: ${message}`
      const where = layered.fromFile.has(name) ? ` in ${settingsFile!.path}` : ''
      return isSecret(name) || set[name] === undefined
        ? `${name}${where}: ${message}`
        : `${name} is ${JSON.stringify(set[name])}${where}: ${message}`
    })
    const all = [...layered.problems, ...secrets.problems.values(), ...problems, ...providers.problems]
    throw new ConfigError([...new Set(all)])
  }
  const { limits, allowedOrigins, trustedProxies, authentication, automatic } = data
  for (const part of [limits, allowedOrigins, trustedProxies, authentication, automatic]) Object.freeze(part)
  // A provider of the file replaces one of the same name.
  return Object.freeze({ ...data, chatProviders: Object.freeze({ ...data.chatProviders, ...providers.providers }) })
}
