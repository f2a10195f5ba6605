// Checks the Dockerfile as text, because the tests run without a Docker engine. compose.test.ts checks the services.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const read = (name: string) => readFileSync(path(name), 'utf8')

describe('Dockerfile', () => {
  /** The instructions in order, with continued lines joined. */
  const steps = read('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ instruction: line.split(' ', 1)[0]!, rest: line.slice(line.indexOf(' ') + 1).trim() }))
  const all = (instruction: string) => steps.filter((step) => step.instruction === instruction).map(({ rest }) => rest)
  const indexOf = (instruction: string, part: string) =>
    steps.findIndex((step) => step.instruction === instruction && step.rest.includes(part))
  const env = Object.fromEntries(
    all('ENV')[0]!
      .split(' ')
      .map((pair) => pair.split('=') as [string, string]),
  )

  it('starts from an exact version of Node 24, which package.json allows', () => {
    expect(all('FROM')).toEqual(['node:24.11.1-bookworm-slim AS build', 'node:24.11.1-bookworm-slim'])
    expect(JSON.parse(read('package.json')).engines.node).toBe('>=20.19')
  })

  it('builds from the lockfile, and installs the packed package without development dependencies', () => {
    const build = indexOf('RUN', 'npm ci')
    expect(build).toBeGreaterThan(indexOf('COPY', 'package-lock.json prisma.config.ts'))
    expect(build).toBeGreaterThan(indexOf('COPY', 'prisma ./prisma'))
    // npm ci links the workspace, and fails without it.
    expect(build).toBeGreaterThan(indexOf('COPY', 'packages ./packages'))
    expect(all('RUN')[0]).toContain('npm pack --pack-destination /package')
    expect(all('COPY')).toContain('--from=build /package /package')
    expect(indexOf('RUN', 'npm install --omit=dev')).toBeGreaterThan(indexOf('COPY', '--from=build'))
    const { dependencies, scripts } = JSON.parse(read('package.json'))
    expect(scripts).toMatchObject({
      postprepare: 'npm run generate',
      generate: expect.stringMatching(/^prisma generate.*generate-client/),
      prepack: 'npm run build',
    })
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
    // Files of the host must not overwrite the files that npm ci generated in the image.
    expect(read('.dockerignore')).toMatch(/^src\/client\/generated\.ts\nsrc\/store\/generated\npackages/m)
  })

  it('copies all files that npm ci compiles', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'colloquy-docker-'))
    try {
      const copied = all('COPY').filter((each) => !each.startsWith('--from'))
      for (const source of copied.flatMap((each) => each.split(' ').slice(0, -1)))
        cpSync(path(source), join(directory, source), { recursive: true })
      mkdirSync(join(directory, 'node_modules'))
      for (const name of readdirSync(path('node_modules')))
        if (name !== '.cache') symlinkSync(join(path('node_modules'), name), join(directory, 'node_modules', name))
      const compiled = spawn(process.execPath, ['scripts/compile.js'], { cwd: directory, stdio: 'inherit' })
      expect(await once(compiled, 'exit')).toEqual([0, null])
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it('runs as an unprivileged user, who owns the data directory', () => {
    expect(all('USER')).toEqual(['node'])
    expect(indexOf('USER', 'node')).toBeLessThan(indexOf('CMD', ''))
    expect(indexOf('RUN', 'chown node:node /data /keys')).toBeLessThan(indexOf('USER', 'node'))
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
    expect(scripts.start).toBe('node --max-semi-space-size=64 scripts/start.js')
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
