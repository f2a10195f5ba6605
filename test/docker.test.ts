// Checks the Docker files as text, because the tests run without a Docker engine.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadConfig, variables } from '../src/config/config.ts'

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const read = (name: string) => readFileSync(path(name), 'utf8')

type Service = {
  image?: string
  build?: string
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  volumes?: string[]
  healthcheck?: { test: string[]; interval: string; timeout: string; retries: number }
  depends_on?: Record<string, { condition: string }>
  stop_grace_period?: string
}
type Compose = { services: Record<'postgres' | 'redis' | 'server', Service>; volumes: Record<string, unknown> }

describe('docker-compose.yml', () => {
  const { services, volumes } = parse(read('docker-compose.yml')) as Compose
  const { postgres, redis, server } = services

  it('defines the server, Postgres with pgvector, and Redis', () => {
    expect(Object.keys(services).sort()).toEqual(['postgres', 'redis', 'server'])
    expect(postgres.image).toBe('pgvector/pgvector:pg17')
    expect(redis.image).toBe('redis:8')
    expect(server.build).toBe('.')
  })

  it("publishes ports on the host's loopback only", () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? [])
    expect(ports).toHaveLength(3)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
    expect(server.ports).toEqual(['127.0.0.1:4000:4000'])
  })

  it('starts the server once both services are healthy', () => {
    expect(server.depends_on).toEqual({
      postgres: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
    })
    for (const { healthcheck } of [postgres, redis]) {
      expect(healthcheck).toMatchObject({ interval: expect.stringMatching(/^\d+s$/), retries: expect.any(Number) })
      expect(healthcheck!.test[0]).toBe('CMD')
    }
    expect(postgres.healthcheck!.test).toContain('pg_isready')
    expect(redis.healthcheck!.test).toEqual(['CMD', 'redis-cli', 'ping'])
  })

  it('gives the server only known settings, with valid values', () => {
    const names = new Set(variables.map(({ name }) => name))
    expect(Object.keys(server.environment!).filter((name) => !names.has(name))).toEqual([])
    // YAML may change the text of an unquoted number or boolean.
    expect(Object.values(server.environment!).every((value) => typeof value === 'string')).toBe(true)
    const config = loadConfig(server.environment)
    expect(config).toMatchObject({ host: '0.0.0.0', port: 4000, allowUnauthenticated: true })
    // Longer than the server's own limit plus the time after which main.ts forces the exit (FORCED_EXIT_MS, 2 s).
    expect(parseInt(server.stop_grace_period!)).toBeGreaterThan(config.shutdownMs / 1000 + 2)
  })

  it("uses the services' names in the URLs", () => {
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = postgres.environment!
    const { DATABASE_URL, REDIS_URL } = server.environment!
    expect(DATABASE_URL).toBe(`postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgres:5432/${POSTGRES_DB}`)
    expect(REDIS_URL).toBe('redis://redis:6379')
  })

  it('stores data in declared volumes', () => {
    const mounted = Object.values(services).flatMap((service) => service.volumes ?? [])
    expect(mounted.map((volume) => volume.split(':')[0]).sort()).toEqual(Object.keys(volumes).sort())
    expect(postgres.volumes).toEqual(['postgres:/var/lib/postgresql/data'])
  })
})

describe('Dockerfile', () => {
  /** The instructions in order, with continued lines joined. */
  const steps = read('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ verb: line.split(' ', 1)[0]!, rest: line.slice(line.indexOf(' ') + 1).trim() }))
  const all = (verb: string) => steps.filter((step) => step.verb === verb).map(({ rest }) => rest)
  const indexOf = (verb: string, part: string) =>
    steps.findIndex((step) => step.verb === verb && step.rest.includes(part))
  const env = Object.fromEntries(
    all('ENV')[0]!
      .split(' ')
      .map((pair) => pair.split('=') as [string, string]),
  )

  it('starts from Node 24, which package.json allows', () => {
    expect(all('FROM')).toEqual(['node:24-slim AS build', 'node:24-slim'])
    expect(JSON.parse(read('package.json')).engines.node).toBe('>=20.19')
  })

  it('builds from the lockfile, and installs the packed package without development dependencies', () => {
    const build = indexOf('RUN', 'npm ci')
    expect(build).toBeGreaterThan(indexOf('COPY', 'package-lock.json prisma.config.ts'))
    expect(build).toBeGreaterThan(indexOf('COPY', 'prisma ./prisma'))
    expect(all('RUN')[0]).toContain('npm pack --pack-destination /package')
    expect(all('COPY')).toContain('--from=build /package /package')
    expect(indexOf('RUN', 'npm install --omit=dev')).toBeGreaterThan(indexOf('COPY', '--from=build'))
    const { dependencies, scripts } = JSON.parse(read('package.json'))
    expect(scripts).toMatchObject({ prepare: expect.stringMatching(/^prisma generate/), prepack: 'npm run build' })
    for (const name of ['prisma', 'tsx', 'typescript']) expect(Object.keys(dependencies)).not.toContain(name)
  })

  it('copies only files that exist and that .dockerignore allows', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? line.slice(1) : []))
    for (const copied of all('COPY').filter((each) => !each.startsWith('--from'))) {
      for (const source of copied.split(' ').slice(0, -1)) {
        expect(existsSync(path(source)), source).toBe(true)
        expect(allowed).toContain(source)
      }
    }
    // Files on the host must not overwrite what npm ci generated in the image.
    expect(read('.dockerignore')).toMatch(/^src\/store\/generated$/m)
  })

  it('runs as an unprivileged user, who owns the data directory', () => {
    expect(all('USER')).toEqual(['node'])
    expect(indexOf('USER', 'node')).toBeLessThan(indexOf('CMD', ''))
    expect(indexOf('RUN', 'chown node:node /data')).toBeLessThan(indexOf('USER', 'node'))
    expect(all('VOLUME')).toEqual([env.DATA_DIR])
  })

  it('does not allow unauthenticated clients by default', () => {
    expect(() => loadConfig(env)).toThrow('ALLOW_UNAUTHENTICATED=1')
    expect(loadConfig({ ...env, ALLOW_UNAUTHENTICATED: '1' })).toMatchObject({ host: '0.0.0.0', port: 4000 })
  })

  it("runs the package's command with the options of npm start, as the process that receives signals", () => {
    const { bin, scripts } = JSON.parse(read('package.json'))
    expect(JSON.parse(all('CMD')[0]!)).toEqual([
      'node',
      '--max-semi-space-size=64',
      `node_modules/colloquy/${bin.colloquy}`,
    ])
    expect(scripts.start).toBe('node --max-semi-space-size=64 --import tsx src/bin.ts')
    expect(read('src/bin.ts')).toMatch(/^#!\/usr\/bin\/env -S node --max-semi-space-size=64\n/)
  })

  it.each([
    [200, 0],
    [503, 1],
  ])('has a health check of /health: status %i exits with code %i', async (status, code) => {
    const [healthcheck] = all('HEALTHCHECK')
    const [command, ...args] = JSON.parse(healthcheck!.slice(healthcheck!.indexOf('['))) as string[]
    const paths: (string | undefined)[] = []
    const server = createServer((request, response) => {
      paths.push(request.url)
      response.writeHead(status).end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const check = spawn(command!, args, { env: { ...process.env, PORT: String(port) }, stdio: 'inherit' })
    expect(await once(check, 'exit')).toEqual([code, null])
    expect(paths).toEqual(['/health'])
    server.close()
  })
})
