// Parsing of the server's environment: accepted and rejected values, and the error messages.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Config, loadConfig, variables } from '../../../src/config/config.ts'
import { BUILT_IN_DEFAULTS } from '../../../src/domain/kernel/call-defaults.ts'
import { problemsOf } from '../../support/environment.ts'

const defaults: Config = {
  port: 4000,
  host: '127.0.0.1',
  metricsPort: undefined,
  metricsHost: '127.0.0.1',
  dataDir: '.colloquy',
  databaseUrl: undefined,
  databaseReadUrl: undefined,
  migrationDatabaseUrl: undefined,
  databasePartitions: undefined,
  redisUrl: undefined,
  embedder: { kind: 'static' },
  reranker: { kind: 'off' },
  summarizer: { kind: 'extractive' },
  extractor: { kind: 'rules' },
  chatProviders: { echo: { kind: 'echo' } },
  promptsDir: undefined,
  redact: 'off',
  redactPatterns: [],
  automatic: { titles: true, threadSummaryEvery: 0, factExtractionEvery: 1, userSummaryEvery: 0 },
  defaults: BUILT_IN_DEFAULTS,
  logLevel: 'info',
  authentication: { isRequired: false, jwt: null },
  firstKeyFile: undefined,
  allowUnauthenticated: false,
  allowedOrigins: [],
  trustedProxies: [],
  databasePoolSize: 10,
  conversationVisibility: 'OPEN',
  readTimeoutMs: 10_000,
  limits: { turnBytes: 262144, batchTurns: 1000, pageSize: 200, bodyBytes: 1048576, frameBytes: 1048576 },
  batchBodyBytes: 16777216,
  bodyTimeoutMs: 30_000,
  bodyRate: 4096,
  writeTimeoutMs: 30_000,
  socketsPerViewer: 200,
  maxQueueMs: 500,
  graphiql: true,
  webApp: true,
  runMs: 600_000,
  streamLeaseMs: 30_000,
  operationLimits: {
    tokens: 2000,
    depth: 20,
    fields: 1000,
    aliases: 50,
    directives: 50,
    repeats: 100,
    values: 100_000,
    answerBytes: 16_777_216,
    timeMs: 30_000,
    introspection: true,
  },
  rateLimitPoints: 0,
  presenceTtlMs: 60_000,
  integrityKey: undefined,
  auditDays: 400,
  files: {
    store: { kind: 'disk', directory: null },
    publicUrl: null,
    types: [
      ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf', 'text/plain', 'text/markdown'],
      ...['text/csv', 'application/json', 'audio/mpeg', 'audio/wav', 'video/mp4', 'video/webm'],
    ],
    fileBytes: 10_485_760,
    conversationBytes: 1_073_741_824,
    tenantBytes: 21_474_836_480,
  },
  fastPost: true,
  shutdownMs: 10_000,
}

describe('loadConfig', () => {
  it('has a default for every setting', () => {
    expect(loadConfig({})).toEqual(defaults)
  })

  it('treats an empty variable as unset', () => {
    expect(loadConfig(Object.fromEntries(variables.map(({ name }) => [name, ''])))).toEqual(defaults)
  })

  it('allows introspection on loopback addresses only, unless INTROSPECTION is set', () => {
    const introspection = (env: Record<string, string>) =>
      loadConfig({ ALLOW_UNAUTHENTICATED: '1', ...env }).operationLimits.introspection
    for (const HOST of ['127.0.0.1', '::1', 'localhost']) expect(introspection({ HOST })).toBe(true)
    for (const HOST of ['0.0.0.0', '::', 'chat.example']) expect(introspection({ HOST })).toBe(false)
    expect(introspection({ HOST: '0.0.0.0', INTROSPECTION: '1' })).toBe(true)
    expect(introspection({ INTROSPECTION: 'false' })).toBe(false)
  })

  it('ignores unknown variables', () => {
    expect(loadConfig({ PATH: '/bin', port: 'x' })).toEqual(defaults)
  })

  it('reads each variable into its own field', () => {
    const config = loadConfig({
      PORT: '0',
      HOST: '0.0.0.0',
      METRICS_PORT: '9100',
      METRICS_HOST: 'metrics.lan',
      DATA_DIR: '/data',
      DATABASE_URL: 'postgres://u:p@db/colloquy?sslmode=require',
      DATABASE_READ_URL: 'postgres://u:p@replica/colloquy',
      DATABASE_PARTITIONS: '16',
      CONVERSATION_VISIBILITY: 'MEMBERS',
      DATABASE_POOL_SIZE: '6',
      READ_TIMEOUT_SECONDS: '11',
      REDIS_URL: 'rediss://cache:6380',
      EMBEDDER: 'openai',
      OPENAI_BASE_URL: 'http://ollama:11434/v1/',
      OPENAI_API_KEY: 'sk-key',
      EMBEDDING_MODEL: 'nomic-embed-text',
      EMBEDDING_DIMENSIONS: '768',
      EMBEDDING_REVISION: '2',
      RERANKER: 'openai',
      RERANK_MODEL: 'bge-reranker',
      RERANK_URL: 'http://vllm:8000/v1',
      RERANK_API_KEY: 'sk-rerank',
      RERANK_CANDIDATES: '30',
      SUMMARIZER: 'openai',
      SUMMARIZER_MODEL: 'llama3.2',
      EXTRACTOR: 'openai',
      EXTRACTOR_MODEL: 'qwen3',
      CHAT_MODEL: 'llama3.3',
      ECHO_PROVIDER: '1',
      PROMPTS_DIR: 'src/providers/openai/prompts',
      REDACT: 'turns',
      AUTOMATIC_TITLES: 'false',
      THREAD_SUMMARY_EVERY_N: '10',
      FACT_EXTRACTION_EVERY_N: '11',
      USER_SUMMARY_EVERY_N: '12',
      CONTEXT_TOKEN_BUDGET: '9000',
      CONTEXT_STRATEGY: 'SIMPLE',
      RECALL_HITS: '7',
      RECALL_THRESHOLD: '0.25',
      RETENTION: 'AUDIT_ONLY',
      CONVERSATION_TTL_SECONDS: '86400',
      LOG_LEVEL: 'silent',
      AUTH_MODE: 'jwt',
      JWKS_URL: 'https://issuer.example/jwks',
      JWT_ISSUER: 'https://issuer.example',
      JWT_AUDIENCE: 'chat',
      JWT_CLOCK_TOLERANCE_SECONDS: '21',
      JWT_CLAIM_TENANT: 'org',
      JWT_CLAIM_ACTOR: 'name',
      JWT_CLAIM_KIND: 'type',
      JWT_CLAIM_RIGHTS: 'scope',
      JWT_TENANT: 'acme',
      FIRST_KEY_FILE: '/keys/first',
      ALLOW_UNAUTHENTICATED: '1',
      ALLOWED_ORIGINS: 'https://app.example',
      TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      MAX_TURN_BYTES: '2',
      MAX_BATCH_TURNS: '3',
      MAX_PAGE_SIZE: '4',
      MAX_BODY_BYTES: '5000',
      MAX_FRAME_BYTES: '6000',
      MAX_QUERY_TOKENS: '101',
      MAX_QUERY_DEPTH: '12',
      MAX_QUERY_FIELDS: '13',
      MAX_QUERY_ALIASES: '14',
      MAX_QUERY_DIRECTIVES: '15',
      MAX_QUERY_REPEATS: '16',
      MAX_QUERY_VALUES: '170',
      MAX_ANSWER_BYTES: '1800',
      MAX_QUERY_SECONDS: '19',
      INTROSPECTION: '1',
      RATE_LIMIT_POINTS: '20',
      MAX_BATCH_BODY_BYTES: '7000',
      BODY_TIMEOUT_SECONDS: '3',
      MIN_BODY_BYTES_PER_SECOND: '100',
      WRITE_TIMEOUT_SECONDS: '4',
      MAX_SOCKETS_PER_VIEWER: '5',
      MAX_QUEUE_MS: '40',
      GRAPHIQL: '1',
      WEB_APP: '0',
      STREAM_LEASE_SECONDS: '7',
      PRESENCE_TTL_SECONDS: '8',
      INTEGRITY_KEY: 'k'.repeat(32),
      AUDIT_DAYS: '31',
      FILES_DIR: '/ignored',
      FILES_S3_BUCKET: 'files',
      FILES_S3_ENDPOINT: 'https://s3.lan/',
      FILES_S3_REGION: 'lan-1',
      FILES_S3_KEY_ID: 'id',
      FILES_S3_SECRET: 'secret',
      FILE_TYPES: 'image/png, TEXT/plain',
      MAX_FILE_BYTES: '2048',
      MAX_CONVERSATION_FILE_BYTES: '1048576',
      MAX_TENANT_FILE_BYTES: '2097152',
      PUBLIC_URL: 'https://chat.lan/',
      FAST_POST: '0',
      RUN_SECONDS: '70',
      SHUTDOWN_SECONDS: '9',
    })
    expect(config).toEqual({
      port: 0,
      host: '0.0.0.0',
      metricsPort: 9100,
      metricsHost: 'metrics.lan',
      dataDir: '/data',
      databaseReadUrl: 'postgres://u:p@replica/colloquy',
      databasePartitions: 16,
      databaseUrl: 'postgres://u:p@db/colloquy?sslmode=require',
      redisUrl: 'rediss://cache:6380',
      embedder: {
        kind: 'openai',
        baseUrl: 'http://ollama:11434/v1',
        apiKey: 'sk-key',
        model: 'nomic-embed-text',
        dimension: 768,
        revision: 2,
        sendsDimension: false,
      },
      reranker: {
        kind: 'openai',
        baseUrl: 'http://vllm:8000/v1',
        apiKey: 'sk-rerank',
        model: 'bge-reranker',
        candidates: 30,
      },
      summarizer: { kind: 'openai', baseUrl: 'http://ollama:11434/v1', apiKey: 'sk-key', model: 'llama3.2' },
      extractor: { kind: 'openai', baseUrl: 'http://ollama:11434/v1', apiKey: 'sk-key', model: 'qwen3' },
      chatProviders: {
        echo: { kind: 'echo' },
        openai: {
          kind: 'openai',
          baseUrl: 'http://ollama:11434/v1',
          apiKey: 'sk-key',
          model: 'llama3.3',
          settingNames: { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', model: 'CHAT_MODEL' },
        },
      },
      promptsDir: 'src/providers/openai/prompts',
      redact: 'turns',
      redactPatterns: [],
      automatic: { titles: false, threadSummaryEvery: 10, factExtractionEvery: 11, userSummaryEvery: 12 },
      defaults: {
        tokenBudget: 9000,
        contextStrategy: 'SIMPLE',
        recallHits: 7,
        recallThreshold: 0.25,
        retention: 'AUDIT_ONLY',
        ttlSeconds: 86_400,
      },
      logLevel: 'silent',
      authentication: {
        isRequired: true,
        jwt: {
          key: { jwksUrl: 'https://issuer.example/jwks' },
          issuer: 'https://issuer.example',
          audience: 'chat',
          clockToleranceSeconds: 21,
          claims: { tenant: 'org', actor: 'name', kind: 'type', rights: 'scope' },
          tenant: 'acme',
        },
      },
      firstKeyFile: '/keys/first',
      allowUnauthenticated: true,
      allowedOrigins: ['https://app.example'],
      trustedProxies: ['10.0.0.0/8', '::1'],
      conversationVisibility: 'MEMBERS',
      databasePoolSize: 6,
      readTimeoutMs: 11_000,
      limits: { turnBytes: 2, batchTurns: 3, pageSize: 4, bodyBytes: 5000, frameBytes: 6000 },
      batchBodyBytes: 7000,
      bodyTimeoutMs: 3000,
      bodyRate: 100,
      writeTimeoutMs: 4000,
      maxQueueMs: 40,
      socketsPerViewer: 5,
      graphiql: true,
      webApp: false,
      streamLeaseMs: 7000,
      operationLimits: {
        tokens: 101,
        depth: 12,
        fields: 13,
        aliases: 14,
        directives: 15,
        repeats: 16,
        values: 170,
        answerBytes: 1800,
        timeMs: 19_000,
        introspection: true,
      },
      rateLimitPoints: 20,
      presenceTtlMs: 8000,
      integrityKey: 'k'.repeat(32),
      auditDays: 31,
      files: {
        store: {
          kind: 's3',
          endpoint: 'https://s3.lan',
          region: 'lan-1',
          bucket: 'files',
          accessKeyId: 'id',
          secretAccessKey: 'secret',
        },
        publicUrl: 'https://chat.lan',
        types: ['image/png', 'text/plain'],
        fileBytes: 2048,
        conversationBytes: 1_048_576,
        tenantBytes: 2_097_152,
      },
      fastPost: false,
      runMs: 70_000,
      shutdownMs: 9000,
    })
  })

  it('serves GraphiQL on loopback addresses only, unless GRAPHIQL is set', () => {
    const network = { HOST: '0.0.0.0', ALLOW_UNAUTHENTICATED: '1' }
    expect(loadConfig({ HOST: '::1' }).graphiql).toBe(true)
    expect(loadConfig({ GRAPHIQL: '0' }).graphiql).toBe(false)
    expect(loadConfig(network).graphiql).toBe(false)
    expect(loadConfig({ ...network, GRAPHIQL: '1' }).graphiql).toBe(true)
  })

  it('rejects partitions of an embedded database, and more than 64 partitions', () => {
    expect(problemsOf({ DATABASE_PARTITIONS: '16' })).toEqual(['DATABASE_PARTITIONS is "16": requires DATABASE_URL'])
    expect(problemsOf({ DATABASE_PARTITIONS: '65', DATABASE_URL: 'postgres://db' })).toEqual([
      'DATABASE_PARTITIONS is "65": must be a whole number from 2 to 64',
    ])
  })

  it('is frozen', () => {
    const config = loadConfig({})
    const { limits, allowedOrigins, embedder, summarizer, extractor, automatic } = config
    const parts = [config, limits, allowedOrigins, embedder, summarizer, extractor, automatic]
    expect(parts.every(Object.isFrozen)).toBe(true)
  })

  it('reports every invalid variable at once, with its value and the allowed values', () => {
    expect(
      problemsOf({
        PORT: '65536',
        HOST: '0.0.0.0',
        DATABASE_POOL_SIZE: '0',
        LOG_LEVEL: 'loud',
        MAX_PAGE_SIZE: '1e3',
        SHUTDOWN_SECONDS: '-1',
      }),
    ).toEqual([
      'PORT is "65536": must be a whole number from 0 to 65535',
      'DATABASE_POOL_SIZE is "0": must be a whole number from 6 to 200',
      'LOG_LEVEL is "loud": must be one of trace, debug, info, warn, error, fatal, silent',
      'MAX_PAGE_SIZE is "1e3": must be a whole number from 1 to 10000',
      'SHUTDOWN_SECONDS is "-1": must be a whole number from 1 to 600',
      'HOST is "0.0.0.0": listening on a network requires AUTH_MODE, or ALLOW_UNAUTHENTICATED=1 to do without authentication',
    ])
  })

  it.each(['DATABASE_URL', 'REDIS_URL'])(
    'does not repeat the value of an invalid %s, which may contain a password',
    (name) => {
      const [problem, ...rest] = problemsOf({ [name]: 'http://user:hunter2@host' })
      expect(problem).toMatch(/_URL: must be a URL that begins with (postgres|redis):\/\//)
      expect(problem).not.toContain('hunter2')
      expect(rest).toEqual([])
    },
  )

  it.each(['true', '1'])('reads ALLOW_UNAUTHENTICATED=%s as true', (value) => {
    expect(loadConfig({ ALLOW_UNAUTHENTICATED: value }).allowUnauthenticated).toBe(true)
  })

  it.each(['false', '0'])('reads ALLOW_UNAUTHENTICATED=%s as false', (value) => {
    expect(loadConfig({ ALLOW_UNAUTHENTICATED: value }).allowUnauthenticated).toBe(false)
  })

  it.each(['yes', 'TRUE', 'constructor'])('rejects ALLOW_UNAUTHENTICATED=%s', (value) => {
    expect(problemsOf({ ALLOW_UNAUTHENTICATED: value })).toHaveLength(1)
  })
})

describe('the settings of the embedder and the summarizer', () => {
  const KEY = { OPENAI_API_KEY: 'sk-key' }

  it('include a default model and dimension', () => {
    expect(loadConfig({ EMBEDDER: 'openai', ...KEY }).embedder).toEqual({
      kind: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 'sk-key',
      model: 'text-embedding-3-small',
      dimension: 1536,
      sendsDimension: true,
    })
    expect(loadConfig({ EMBEDDER: 'transformers' }).embedder).toEqual({
      kind: 'transformers',
      model: 'Xenova/all-MiniLM-L6-v2',
      dimension: 384,
    })
  })

  it.each([
    ['openai', 'text-embedding-3-large', 3072],
    ['openai', 'text-embedding-ada-002', 1536],
    ['openai', 'openai/text-embedding-3-small', 1536],
    ['transformers', '/models/all-MiniLM-L6-v2/', 384],
  ])('with EMBEDDER=%s include a default dimension for %s', (EMBEDDER, EMBEDDING_MODEL, dimension) => {
    expect(loadConfig({ EMBEDDER, EMBEDDING_MODEL, ...KEY }).embedder).toMatchObject({ dimension })
  })

  it('accept a smaller dimension for models that support it', () => {
    const config = loadConfig({ EMBEDDER: 'openai', EMBEDDING_DIMENSIONS: '256', ...KEY })
    expect(config.embedder).toMatchObject({ dimension: 256, sendsDimension: true })
  })

  it.each<[string, Record<string, string>, string[]]>([
    [
      'an unknown embedder',
      { EMBEDDER: 'word2vec' },
      ['EMBEDDER is "word2vec": must be one of static, openai, transformers'],
    ],
    [
      'a model of unknown dimension',
      { EMBEDDER: 'openai', EMBEDDING_MODEL: 'constructor', ...KEY },
      ['EMBEDDING_DIMENSIONS: set it to the dimension of the vectors of "constructor"'],
    ],
    [
      'OpenAI without a key',
      { EMBEDDER: 'openai', OPENAI_BASE_URL: 'https://API.openai.com/v1/' },
      ['OPENAI_API_KEY: is required by OpenAI; for another server set OPENAI_BASE_URL'],
    ],
    [
      'more dimensions than the index supports',
      { EMBEDDER: 'openai', EMBEDDING_DIMENSIONS: '4001', ...KEY },
      ['EMBEDDING_DIMENSIONS is "4001": must be a whole number from 1 to 4000'],
    ],
    [
      'more dimensions than the model has',
      { EMBEDDER: 'openai', EMBEDDING_DIMENSIONS: '1537', ...KEY },
      ['EMBEDDING_DIMENSIONS is "1537": the vectors of text-embedding-3-small have at most 1536 components'],
    ],
    [
      "dimensions that differ from the model's",
      { EMBEDDER: 'transformers', EMBEDDING_DIMENSIONS: '256' },
      ['EMBEDDING_DIMENSIONS is "256": the vectors of Xenova/all-MiniLM-L6-v2 have 384 components'],
    ],
    [
      'embedder settings that the selected embedder does not use',
      { EMBEDDING_MODEL: 'm', EMBEDDING_DIMENSIONS: '5', ...KEY },
      [
        'EMBEDDING_MODEL is "m": requires EMBEDDER=openai or EMBEDDER=transformers; set one of them, or unset EMBEDDING_MODEL',
        'EMBEDDING_DIMENSIONS is "5": requires EMBEDDER=openai or EMBEDDER=transformers; set one of them, or unset EMBEDDING_DIMENSIONS',
      ],
    ],
    [
      'an OpenAI summarizer without a key',
      { SUMMARIZER: 'openai' },
      ['OPENAI_API_KEY: is required by OpenAI; for another server set OPENAI_BASE_URL'],
    ],
    [
      'a model for the built-in summarizer',
      { SUMMARIZER_MODEL: 'm' },
      ['SUMMARIZER_MODEL is "m": requires SUMMARIZER=openai; set one of them, or unset SUMMARIZER_MODEL'],
    ],
    [
      'several invalid settings at once',
      { PORT: 'x', EMBEDDER: 'openai', EMBEDDING_MODEL: 'm' },
      [
        'PORT is "x": must be a whole number from 0 to 65535',
        'OPENAI_API_KEY: is required by OpenAI; for another server set OPENAI_BASE_URL',
        'EMBEDDING_DIMENSIONS: set it to the dimension of the vectors of "m"',
      ],
    ],
  ])('reject %s', (_, env, expected) => {
    expect(problemsOf(env)).toEqual(expected)
  })

  it('need no key for a custom base URL', () => {
    const { embedder } = loadConfig({ EMBEDDER: 'openai', OPENAI_BASE_URL: 'http://localhost:8000/v1' })
    expect(embedder).toMatchObject({ apiKey: undefined })
  })

  it.each(['localhost:11434', 'ftp://a', 'http://u:hunter2@a', 'http://a/v1?key=hunter2', 'http://a b', 'http://a:x'])(
    'reject the base URL %s',
    (url) => {
      const [problem, ...rest] = problemsOf({ OPENAI_BASE_URL: url })
      expect(problem).toMatch(/^OPENAI_BASE_URL: must be a URL like/)
      expect(problem).not.toContain('hunter2')
      expect(rest).toEqual([])
    },
  )

  it('include a key that no error text quotes', () => {
    expect(problemsOf({ OPENAI_API_KEY: 'sk-hunter2\n' })).toEqual([
      'OPENAI_API_KEY: must be printable ASCII without spaces or line breaks',
    ])
  })
})

describe('PROMPTS_DIR', () => {
  const problem = 'must be a directory that exists and can be read'

  it('must be an existing directory', () => {
    const directory = mkdtempSync(join(tmpdir(), 'prompts-'))
    const file = join(directory, 'profile.md')
    writeFileSync(file, '')
    expect(loadConfig({ PROMPTS_DIR: directory }).promptsDir).toBe(directory)
    expect(problemsOf({ PROMPTS_DIR: file })).toEqual([`PROMPTS_DIR is ${JSON.stringify(file)}: ${problem}`])
    rmSync(directory, { recursive: true })
    expect(problemsOf({ PROMPTS_DIR: directory })).toEqual([`PROMPTS_DIR is ${JSON.stringify(directory)}: ${problem}`])
  })
})

describe('HOST', () => {
  it.each(['localhost', '127.0.0.1', '127.8.9.1', '::1', '0:0:0:0:0:0:0:1'])(
    'can be %s without further settings',
    (host) => {
      expect(loadConfig({ HOST: host }).host).toBe(host)
    },
  )

  it.each(['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', 'db.example', '127.0.0.1.example'])(
    'can be %s only if unauthenticated clients are allowed',
    (host) => {
      expect(problemsOf({ HOST: host })[0]).toContain('ALLOW_UNAUTHENTICATED=1')
      expect(loadConfig({ HOST: host, ALLOW_UNAUTHENTICATED: '1' }).host).toBe(host)
    },
  )

  it.each(['[::1]', 'localhost:4000', 'a b'])('cannot be %s', (host) => {
    expect(problemsOf({ HOST: host })).toEqual([`HOST is "${host}": must be an IP address or a host name`])
  })
})

describe('TRUSTED_PROXIES', () => {
  it.each(['10.0.0.0/33', '10.0.0.0/x', '10.0.0.0/8/8', 'fd00::/129', 'proxy.lan', '10.0.0'])('rejects %s', (value) => {
    expect(problemsOf({ TRUSTED_PROXIES: `127.0.0.1,${value}` })).toHaveLength(1)
  })

  it('is empty unless it is set', () => {
    expect(loadConfig({}).trustedProxies).toEqual([])
  })
})

describe('ALLOWED_ORIGINS', () => {
  it('is normalised to the form of the Origin header that browsers send', () => {
    const given = ' HTTPS://App.Example:443 ,, http://[::1]:3000,capacitor://localhost'
    expect(loadConfig({ ALLOWED_ORIGINS: given }).allowedOrigins).toEqual([
      'https://app.example',
      'http://[::1]:3000',
      'capacitor://localhost',
    ])
  })

  it.each(['*', 'null', 'app.example', 'https://app.example/', 'https://a@b.example', 'https://', 'https://a:x'])(
    'cannot contain %s',
    (value) => {
      expect(problemsOf({ ALLOWED_ORIGINS: `https://good.example,${value}` })).toHaveLength(1)
    },
  )
})

describe('documented variables', () => {
  it('have a default in the format of their values, and a description', () => {
    expect(variables.filter(({ name }) => ['PORT', 'HOST', 'REDIS_URL', 'ALLOWED_ORIGINS'].includes(name))).toEqual([
      { name: 'PORT', default: '4000', meaning: expect.stringMatching(/.\.$/) },
      { name: 'HOST', default: '127.0.0.1', meaning: expect.stringMatching(/.\.$/) },
      { name: 'REDIS_URL', default: undefined, meaning: expect.stringMatching(/.\.$/) },
      { name: 'ALLOWED_ORIGINS', default: undefined, meaning: expect.stringMatching(/.\.$/) },
    ])
    expect(variables.every(({ meaning }) => meaning.length > 20)).toBe(true)
  })

  it('have valid defaults', () => {
    const env = Object.fromEntries(variables.map((variable) => [variable.name, variable.default]))
    expect(loadConfig(env)).toEqual(defaults)
  })
})
