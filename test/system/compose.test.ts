// Checks docker-compose.yml as text, because the tests run without a Docker engine, and runs the script that creates
// its secrets. scenario/compose.test.ts applies the same configuration to a real Postgres and Redis.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadConfig, secretFileVariables, variables } from '../../src/config/config.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')

type Service = {
  image?: string
  build?: string
  user?: string
  command?: string[]
  environment?: Record<string, string>
  secrets?: string[]
  ports?: string[]
  networks: string[]
  volumes?: string[]
  tmpfs: string[]
  read_only: boolean
  cap_drop: string[]
  cap_add?: string[]
  privileged?: boolean
  security_opt: string[]
  mem_limit: string
  pids_limit: number
  logging: { options: Record<string, string> }
  healthcheck?: { test: string[]; interval: string; timeout: string; retries: number }
  depends_on?: Record<string, { condition: string }>
  stop_grace_period?: string
}
type Compose = {
  services: Record<'postgres' | 'redis' | 'server', Service>
  volumes: Record<string, unknown>
  networks: Record<string, { internal?: boolean } | null>
  secrets: Record<string, { file: string }>
}

const text = read('docker-compose.yml')
const compose = parse(text, { merge: true }) as Compose
const { services, networks, volumes, secrets } = compose
const { postgres, redis, server } = services
const each = Object.entries(services)

/** An image with a version of three numbers, an optional suffix and an optional digest. */
const PINNED = /^[a-z/]+:\d+\.\d+\.\d+(-\w+)*(@sha256:[\da-f]{64})?$/

describe('docker-compose.yml', () => {
  it('defines the server, Postgres with pgvector, and Redis', () => {
    expect(Object.keys(services).sort()).toEqual(['postgres', 'redis', 'server'])
    expect(postgres.image).toMatch(/^pgvector\/pgvector:.*pg17/)
    expect(redis.image).toMatch(/^redis:8\./)
    expect(server.build).toBe('.')
  })

  it('names an exact version of every image, and lets Renovate pin the digests', () => {
    for (const image of [postgres.image, redis.image]) expect(image).toMatch(PINNED)
    const renovate = JSON.parse(read('.github/renovate.json')) as { extends: string[]; enabledManagers: string[] }
    expect(renovate.extends).toContain('docker:pinDigests')
    expect(renovate.enabledManagers).toEqual(expect.arrayContaining(['dockerfile', 'docker-compose']))
  })

  it.each(each)('gives the container of %s no capabilities and no way to gain privileges', (_, service) => {
    expect(service.cap_drop).toEqual(['ALL'])
    expect([service.cap_add, service.privileged]).toEqual([undefined, undefined])
    expect(service.security_opt).toEqual(['no-new-privileges:true'])
  })

  it.each(each)(
    'makes the file system of %s read-only, except for volumes and temporary file systems',
    (_, service) => {
      expect(service.read_only).toBe(true)
      expect(service.tmpfs.length).toBeGreaterThan(0)
      for (const mount of service.tmpfs) expect(mount).toMatch(/^\/[\w/]+:(\S+,)?size=\d+m\b/)
    },
  )

  it('runs no service as root', () => {
    // The Dockerfile sets the server's user.
    for (const { user } of [postgres, redis]) expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(server.user).toBeUndefined()
    expect(read('Dockerfile')).toMatch(/^USER node$/m)
  })

  it.each(each)('limits the memory, the processes and the logs of %s', (_, service) => {
    expect(service.mem_limit).toMatch(/^\d+[mg]$/)
    expect(service.pids_limit).toBeLessThanOrEqual(256)
    expect(service.logging.options).toMatchObject({ 'max-size': expect.any(String), 'max-file': expect.any(String) })
  })

  it("publishes only the server's port, on the host's loopback only", () => {
    expect([postgres.ports, redis.ports]).toEqual([undefined, undefined])
    expect(server.ports).toEqual(['127.0.0.1:4000:4000'])
  })

  it('connects Postgres and Redis to the server only, through a network without internet access', () => {
    expect([postgres.networks, redis.networks]).toEqual([['data'], ['data']])
    expect(server.networks).toEqual(['data', 'public'])
    expect(networks).toEqual({ data: { internal: true }, public: null })
  })

  it('contains no password, and gives each service only the secrets that it needs', () => {
    expect(text).not.toMatch(/:\/\/[^\s/]*@|PASSWORD: /)
    expect([postgres.secrets, redis.secrets, server.secrets]).toEqual([
      ['postgres_password', 'database_password'],
      ['redis.conf'],
      ['database_url', 'redis_url'],
    ])
    const named = [...new Set(each.flatMap(([, service]) => service.secrets ?? []))]
    expect(Object.keys(secrets).sort()).toEqual(named.sort())
    for (const [name, { file }] of Object.entries(secrets)) expect(file).toBe(`./secrets/${name}`)
    // Neither Git nor the image contains the secret files.
    expect(read('.gitignore')).toMatch(/^secrets\/$/m)
    expect(read('.dockerignore')).toMatch(/^\*$/m)
    expect(read('.dockerignore')).not.toContain('secrets')
  })

  it('starts the server once both services are healthy', () => {
    expect(server.depends_on).toEqual({
      postgres: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
    })
    for (const { healthcheck } of [postgres, redis]) {
      expect(healthcheck).toMatchObject({ interval: expect.stringMatching(/^\d+s$/), retries: expect.any(Number) })
    }
    expect(postgres.healthcheck!.test).toContain('pg_isready')
    // Redis rejects a ping without the password.
    expect(redis.healthcheck!.test).toEqual(['CMD-SHELL', expect.stringMatching(/REDISCLI_AUTH=.*redis-cli ping/)])
    expect(read('Dockerfile')).toMatch(/^HEALTHCHECK /m)
  })

  it('creates a role without superuser rights for the server when the volume is empty', () => {
    const script = './scripts/compose/application-role.sql'
    expect(postgres.volumes).toContain(`${script}:/docker-entrypoint-initdb.d/application-role.sql:ro`)
    const sql = read(script)
    expect(sql).toContain('`cat /run/secrets/database_password`')
    expect(sql).toMatch(/CREATE ROLE colloquy LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS/)
    expect(postgres.environment).toMatchObject({
      POSTGRES_USER: 'postgres',
      POSTGRES_PASSWORD_FILE: '/run/secrets/postgres_password',
      POSTGRES_INITDB_ARGS: '--auth=scram-sha-256',
    })
  })

  it('writes the first API key to a directory that the user of the server owns', () => {
    expect(server.environment!.FIRST_KEY_FILE).toMatch(/^\/keys\//)
    expect(read('Dockerfile')).toMatch(/mkdir .*\/keys\b.* && chown node:node .*\/keys\b/)
    expect(text).toContain('docker compose exec server cat /keys/first')
  })

  it('stores data in declared volumes', () => {
    const mounted = each.flatMap(([, service]) => service.volumes ?? []).filter((volume) => !volume.startsWith('./'))
    expect(mounted).toEqual(['postgres:/var/lib/postgresql/data', 'keys:/keys', 'files:/files'])
    expect(Object.keys(volumes)).toEqual(['postgres', 'keys', 'files'])
  })
})

describe('the secrets of docker-compose.yml', () => {
  let directory: string
  const secret = (name: string) => readFileSync(join(directory, name), 'utf8').trim()
  const make = () => execFileSync(join(root, 'scripts/compose/make-secrets'), [directory])
  beforeAll(() => {
    directory = join(mkdtempSync(join(tmpdir(), 'colloquy-test-')), 'secrets')
    make()
  })
  afterAll(() => rmSync(join(directory, '..'), { recursive: true }))

  it('are created by scripts/compose/make-secrets, with random passwords', () => {
    expect(readdirSync(directory).sort()).toEqual(Object.keys(secrets).sort())
    const passwords = ['postgres_password', 'database_password'].map(secret)
    for (const password of passwords) expect(password).toMatch(/^[\da-f]{64}$/)
    const [, redisPassword] = /^requirepass ([\da-f]{64})$/.exec(secret('redis.conf'))!
    expect(new Set([...passwords, redisPassword]).size).toBe(3)
    expect(secret('database_url')).toBe(`postgres://colloquy:${passwords[1]}@postgres:5432/colloquy`)
    expect(secret('redis_url')).toBe(`redis://:${redisPassword}@redis:6379`)
  })

  it('can be read by the users of the containers, but not by other users of the machine', () => {
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777, name).toBe(0o444)
  })

  it('are not replaced if they exist', () => {
    const before = secret('database_url')
    rmSync(join(directory, 'redis_url'))
    make()
    expect(secret('database_url')).toBe(before)
    expect(secret('redis_url')).toContain(secret('redis.conf').slice('requirepass '.length))
  })

  it('are valid settings of the server, and all other settings of the server are known and valid', () => {
    const names = new Set([...variables.map(({ name }) => name), ...secretFileVariables])
    // Compose replaces ${NAME:-default}.
    const environment = Object.fromEntries(
      Object.entries(server.environment!).map(([name, value]) => [name, value.replace(/^\$\{\w+:-(.*)\}$/, '$1')]),
    )
    expect(Object.keys(environment).filter((name) => !names.has(name))).toEqual([])
    for (const name of secretFileVariables) {
      const path = environment[name]
      if (path) environment[name] = path.replace('/run/secrets', directory)
    }
    const config = loadConfig(environment)
    expect(config).toMatchObject({
      host: '0.0.0.0',
      port: 4000,
      allowUnauthenticated: false,
      authentication: { isRequired: true, jwt: null },
      conversationVisibility: 'MEMBERS',
      firstKeyFile: '/keys/first',
      databaseUrl: secret('database_url'),
      redisUrl: secret('redis_url'),
      graphiql: false,
      operationLimits: { introspection: false },
    })
    // The grace period exceeds the server's own limit plus the time after which main.ts forces the exit
    // (FORCED_EXIT_MS, 2 s).
    expect(parseInt(server.stop_grace_period!)).toBeGreaterThan(config.shutdownMs / 1000 + 2)
  })
})

describe('test/docker-compose.yml', () => {
  const test = (parse(read('test/docker-compose.yml')) as Compose).services

  it('runs the images of docker-compose.yml for the tests, without stored data', () => {
    for (const name of ['postgres', 'redis'] as const) {
      expect(test[name].image).toBe(services[name].image)
      expect(test[name].volumes).toBeUndefined()
      for (const port of test[name].ports!) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
    }
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = test.postgres.environment!
    const urls = [
      `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@127.0.0.1:5432/${POSTGRES_DB}`,
      'redis://127.0.0.1:6379',
    ]
    for (const url of urls) expect(read('CONTRIBUTING.md')).toContain(url)
  })
})
