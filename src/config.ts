// The process's settings: one schema over the environment. Whoever holds a Config holds checked, frozen values; the
// variables' own names and texts appear nowhere else, and nothing else in src reads process.env.

import { BlockList, isIP, isIPv6 } from 'node:net'
import { z } from 'zod'

/** Some variables cannot be used; every one of them is listed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** One a variable, with what is allowed: `PORT is "x": must be a whole number from 0 to 65535`. */
  readonly problems: string[]
  constructor(problems: string[]) {
    super(['The environment cannot be used:', ...problems].join('\n  '))
    this.problems = problems
  }
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

const isLoopback = (host: string) =>
  host.toLowerCase() === 'localhost' || (isIP(host) > 0 && loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4'))

/** A decimal number, so that 1e3, 0x10 and 4000.5 are mistakes. */
const number = (least: number, most: number) => {
  const range = `must be a whole number from ${least} to ${most}`
  return z
    .string()
    .regex(/^\d{1,15}$/, range)
    .transform(Number)
    .refine((n) => n >= least && n <= most, range)
}
const whole = (least: number, most: number, fallback: number) => number(least, most).prefault(String(fallback))

/** Not looked into beyond its scheme: hosts, sockets and options are the driver's to judge. */
const url = (...schemes: string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1)),
      `must be a URL that begins with ${schemes.map((s) => `${s}://`).join(' or ')}, its password percent-encoded`,
    )
    .optional()

/** Where an HTTP API begins, without a slash at its end. Credentials and queries have no place in it. */
const endpoint = z
  .string()
  .refine(
    (text) => /^https?:\/\/[^/?#@\\\s]+(\/[^?#@\\\s]*)?$/i.test(text) && URL.canParse(text),
    'must be a URL like https://api.openai.com/v1 or http://localhost:11434/v1, without password or query',
  )
  .transform((text) => text.replace(/\/+$/, ''))

const flags: Record<string, boolean> = { '1': true, true: true, '0': false, false: false }
const flag = (fallback: string) =>
  z
    .string()
    .refine((text) => Object.hasOwn(flags, text), 'must be 1, 0, true or false')
    .transform((text) => flags[text] === true)
    .prefault(fallback)

/** The form in which browsers send an origin: lower case, without a scheme's own port. */
const origin = z
  .string()
  .refine(
    (text) => /^[a-z][a-z\d+.-]*:\/\/[^/?#@\\\s]+$/i.test(text) && URL.canParse(text),
    'must be origins like https://app.example or http://localhost:3000 (no path), separated by commas',
  )
  .transform((text) => {
    const { protocol, host } = new URL(text)
    return `${protocol}//${host}`
  })

const origins = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()).filter(Boolean))
  .pipe(z.array(origin))
  .prefault('')

const embedders = ['static', 'openai', 'transformers'] as const

/** The models taken where none is named. */
const DEFAULT_MODELS = { openai: 'text-embedding-3-small', transformers: 'Xenova/all-MiniLM-L6-v2' }

/** Components of the vectors of the models we know, by the last part of their names. */
const DIMENSIONS: Record<string, number> = {
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
  'text-embedding-ada-002': 1536,
  'all-MiniLM-L6-v2': 384,
  'all-MiniLM-L6-v2-ONNX': 384,
}
/** pgvector's HNSW index of half-precision vectors takes no more. */
const MOST_DIMENSIONS = 4000

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const MiB = 1024 * 1024

const environment = z.object({
  PORT: whole(0, 65535, 4000).describe('TCP port; 0 takes a free one.'),
  HOST: z
    .string()
    .refine((text) => isIP(text) || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text), 'must be an IP address or a host name')
    .prefault('127.0.0.1')
    .describe('Address to listen on. Other than loopback it needs `ALLOW_UNAUTHENTICATED=1`.'),
  DATA_DIR: z.string().prefault('.colloquy').describe('Directory of the embedded database.'),
  DATABASE_URL: url('postgres', 'postgresql').describe('Postgres to use. Unset, the embedded database is used.'),
  DATABASE_POOL_SIZE: whole(1, 200, 10).describe('Connections to Postgres that this process opens at most.'),
  REDIS_URL: url('redis', 'rediss').describe('Redis that links several processes. Unset, there is one process only.'),
  EMBEDDER: z
    .string()
    .pipe(z.enum(embedders, `must be one of ${embedders.join(', ')}`))
    .prefault('static')
    .describe('What finds turns by meaning: `static` (built in), `openai` or `transformers`.'),
  OPENAI_BASE_URL: endpoint
    .prefault('https://api.openai.com/v1')
    .describe('The API of OpenAI, or one like it: Ollama, vLLM …'),
  OPENAI_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces or line breaks')
    .optional()
    .describe('The key for that API. OpenAI wants one, local servers may not.'),
  EMBEDDING_MODEL: z
    .string()
    .regex(/^\S(.*\S)?$/, 'must be one line that begins and ends with no space')
    .optional()
    .describe(
      `Unset: \`${DEFAULT_MODELS.openai}\` or \`${DEFAULT_MODELS.transformers}\`. The latter may be a directory.`,
    ),
  EMBEDDING_DIMENSIONS: number(1, MOST_DIMENSIONS)
    .optional()
    .describe('Components of the vectors. Needed for models other than those and OpenAI\'s.'),
  LOG_LEVEL: z
    .string()
    .pipe(z.enum(levels, `must be one of ${levels.join(', ')}`))
    .prefault('info')
    .describe('The least severe messages to log.'),
  ALLOW_UNAUTHENTICATED: flag('false').describe('Whether callers without credentials are served off loopback too.'),
  ALLOWED_ORIGINS: origins.describe('Web origins whose pages may call the server, separated by commas.'),
  MAX_TURN_BYTES: whole(1, 64 * MiB, 262144).describe('Content of one turn, in bytes of UTF-8.'),
  MAX_BATCH_TURNS: whole(1, 10000, 1000).describe('Turns that one call appends.'),
  MAX_PAGE_SIZE: whole(1, 10000, 200).describe('Items on one page of a list.'),
  MAX_BODY_BYTES: whole(1024, 256 * MiB, 16 * MiB).describe('Body of one HTTP request, in bytes.'),
  MAX_FRAME_BYTES: whole(1024, 256 * MiB, MiB).describe('One WebSocket message from a client, in bytes.'),
  STREAM_LEASE_SECONDS: whole(1, 3600, 30).describe('Silence after which the writer of a streaming turn is given up.'),
  PRESENCE_TTL_SECONDS: whole(1, 3600, 60).describe('Time that a sign of presence lasts.'),
  SHUTDOWN_SECONDS: whole(1, 600, 10).describe('Time that requests get to finish when the process is told to stop.'),
})

/** The model that is to be used, and what we know of its vectors; nulls for what is not known or not needed. */
function embeddingModel({ EMBEDDER, EMBEDDING_MODEL }: z.output<typeof environment>) {
  if (EMBEDDER === 'static') return { model: null, native: null, shortens: false }
  const model = EMBEDDING_MODEL ?? DEFAULT_MODELS[EMBEDDER]
  const name = model.split(/[/\\]/).filter(Boolean).at(-1) ?? ''
  const native = Object.hasOwn(DIMENSIONS, name) ? DIMENSIONS[name]! : null
  return { model, native, shortens: name.startsWith('text-embedding-3-') }
}

/** What is wrong with the variables of the embedder, taken together. */
function* embedderProblems(env: z.output<typeof environment>): Generator<[variable: string, message: string]> {
  const { model, native, shortens } = embeddingModel(env)
  const dimensions = env.EMBEDDING_DIMENSIONS
  if (model === null) {
    const message = 'is for EMBEDDER=openai and EMBEDDER=transformers: set that too, or unset this'
    if (env.EMBEDDING_MODEL) yield ['EMBEDDING_MODEL', message]
    if (dimensions) yield ['EMBEDDING_DIMENSIONS', message]
    return
  }
  if (env.EMBEDDER === 'openai' && !env.OPENAI_API_KEY && new URL(env.OPENAI_BASE_URL).hostname === 'api.openai.com') {
    yield ['OPENAI_API_KEY', 'OpenAI wants one; for a server of your own set OPENAI_BASE_URL']
  }
  if (native === null && !dimensions) {
    yield ['EMBEDDING_DIMENSIONS', `set it to the length of the vectors that ${JSON.stringify(model)} makes`]
  } else if (native !== null && dimensions && (shortens ? dimensions > native : dimensions !== native)) {
    yield ['EMBEDDING_DIMENSIONS', `${model} makes vectors of ${native}${shortens ? ' at most' : ''}`]
  }
}

const EMBEDDER_VARIABLES = [
  'EMBEDDER', 'OPENAI_BASE_URL', 'OPENAI_API_KEY', 'EMBEDDING_MODEL', 'EMBEDDING_DIMENSIONS',
]

/** Which embedder, and what it needs. */
export type EmbedderConfig =
  | { kind: 'static' }
  | {
      kind: 'openai'
      /** Without a slash at its end. */
      baseUrl: string
      apiKey: string | undefined
      model: string
      dimension: number
      /** Whether the model makes vectors of another length where it is told to. */
      shortens: boolean
    }
  | { kind: 'transformers'; model: string; dimension: number }

function embedderOf(env: z.output<typeof environment>): EmbedderConfig {
  const { model, native, shortens } = embeddingModel(env)
  if (env.EMBEDDER === 'static' || model === null) return { kind: 'static' }
  const dimension = env.EMBEDDING_DIMENSIONS ?? native!
  if (env.EMBEDDER === 'transformers') return { kind: 'transformers', model, dimension }
  return { kind: 'openai', baseUrl: env.OPENAI_BASE_URL, apiKey: env.OPENAI_API_KEY, model, dimension, shortens }
}

/** For checks of several variables: asked even when others are wrong, so that all problems show at once. */
const unlessWrong = (...names: string[]) =>
  ({ issues }: { issues: { path?: PropertyKey[] }[] }) => !issues.some(({ path }) => names.includes(String(path?.[0])))

const schema = environment
  .refine(({ HOST, ALLOW_UNAUTHENTICATED }) => isLoopback(HOST) || ALLOW_UNAUTHENTICATED, {
    path: ['HOST'],
    error: 'binding to a network without authentication needs ALLOW_UNAUTHENTICATED=1',
    when: unlessWrong('HOST', 'ALLOW_UNAUTHENTICATED'),
  })
  .superRefine((env, { addIssue }) => {
    for (const [name, message] of embedderProblems(env)) addIssue({ code: 'custom', path: [name], message })
  }, { when: unlessWrong(...EMBEDDER_VARIABLES) })
  .transform((env) => ({
    port: env.PORT,
    host: env.HOST,
    dataDir: env.DATA_DIR,
    databaseUrl: env.DATABASE_URL,
    redisUrl: env.REDIS_URL,
    embedder: embedderOf(env),
    logLevel: env.LOG_LEVEL,
    allowUnauthenticated: env.ALLOW_UNAUTHENTICATED,
    allowedOrigins: env.ALLOWED_ORIGINS,
    databasePoolSize: env.DATABASE_POOL_SIZE,
    limits: {
      turnBytes: env.MAX_TURN_BYTES,
      batchTurns: env.MAX_BATCH_TURNS,
      pageSize: env.MAX_PAGE_SIZE,
      bodyBytes: env.MAX_BODY_BYTES,
      frameBytes: env.MAX_FRAME_BYTES,
    },
    streamLeaseMs: env.STREAM_LEASE_SECONDS * 1000,
    presenceTtlMs: env.PRESENCE_TTL_SECONDS * 1000,
    shutdownMs: env.SHUTDOWN_SECONDS * 1000,
  }))

/** Checked settings. No databaseUrl: the embedded database in dataDir. No redisUrl: one process. */
export type Config = z.output<typeof schema>

/** What callers may ask for at most: bytes and counts. */
export type Limits = Config['limits']

/** The variables in the order README lists them; without a default, unset means what `meaning` says. */
export const variables = Object.entries(environment.shape).map(([name, field]) => ({
  name,
  default: 'defaultValue' in field.def ? String(field.def.defaultValue) || undefined : undefined,
  meaning: field.description ?? '',
}))

/** Reads the environment; an empty variable counts as unset. Throws ConfigError. */
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const { data, error } = schema.safeParse(set)
  if (error) {
    const problems = error.issues.map(({ path, message }) => {
      const name = String(path[0])
      // The text of a URL may hold a password, so it is not repeated.
      const isSecret = /_(URL|KEY)$/.test(name)
      return isSecret || set[name] === undefined
        ? `${name}: ${message}`
        : `${name} is ${JSON.stringify(set[name])}: ${message}`
    })
    throw new ConfigError([...new Set(problems)])
  }
  Object.freeze(data.limits)
  Object.freeze(data.allowedOrigins)
  Object.freeze(data.embedder)
  return Object.freeze(data)
}
