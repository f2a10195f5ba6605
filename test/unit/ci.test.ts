// Tests that the public workflow runs the steps of .ci/run, in parallel, on two versions of Node: the oldest one that
// package.json allows, and the one in the Dockerfile. And that the configuration of vitest names existing tests,
// and knows which of them replace modules.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const read = (name: string) => readFileSync(path(name), 'utf8')

type Service = { image: string; env?: Record<string, string>; ports: string[] }
type Workflow = {
  jobs: {
    test: {
      strategy: { matrix: { node: number[]; part: string[]; include: { part: string; run: string }[] } }
      services: Record<string, Service>
      env: Record<string, string>
      steps: { run?: string }[]
    }
  }
}
const { strategy, services, env, steps } = (parse(read('.github/workflows/ci.yml')) as Workflow).jobs.test
const { node, part, include } = strategy.matrix
const commands = include.flatMap(({ run }) => run.trim().split('\n'))

describe('.github/workflows/ci.yml', () => {
  it('runs the steps of .ci/run, the full run in parts, and the build', () => {
    const withoutFolders = (command: string) => command.replace(/(test:long) -- .*/, '$1')
    const local = [...read('.ci/run').matchAll(/^(?:step|run_tests) .*?\b(npm .+)$/gm)].map(([, command]) =>
      withoutFolders(command!),
    )
    expect(local.length).toBeGreaterThan(5)
    const whole = commands.map((command) => withoutFolders(command.replace(/^env .*(?=npm)/, '')))
    expect(new Set(['npm ci', ...whole])).toEqual(new Set([...local, 'npm run build']))
    expect(steps.flatMap(({ run }) => run ?? [])).toEqual(['npm ci', '${{ matrix.run }}'])
    expect(include.map((each) => each.part)).toEqual(part)
  })

  it('runs each folder of tests in full once, like .ci/run', () => {
    const foldersOf = (command: string) => /test:long -- ([^"]+)/.exec(command)?.[1]!.trim().split(' ') ?? []
    const folders = commands.flatMap(foldersOf)
    const files = readdirSync(path('test'), { recursive: true, encoding: 'utf8' })
    const tests = files.filter((name) => name.endsWith('.test.ts')).map((name) => `test/${name.split('/')[0]}`)
    expect(folders.toSorted()).toEqual([...new Set(tests)].toSorted())
    expect([...foldersOf(read('.ci/run')), 'test/unit'].toSorted()).toEqual(folders.toSorted())
  })

  it('runs on the oldest supported version of Node and on the version in the Dockerfile', () => {
    const [oldest] = /\d+/.exec((JSON.parse(read('package.json')) as { engines: { node: string } }).engines.node)!
    const [, image] = /^FROM node:(\d+)/m.exec(read('Dockerfile'))!
    expect(node).toEqual([Number(oldest), Number(image)])
  })

  it('runs against its own services, which have the images of docker-compose.yml', () => {
    const compose = parse(read('docker-compose.yml')) as { services: Record<string, { image?: string }> }
    for (const name of ['postgres', 'redis']) expect(services[name]!.image).toBe(compose.services[name]!.image)
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services.postgres!.env!
    expect(env).toEqual({
      TEST_DATABASE_URL: `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@127.0.0.1:5432/${POSTGRES_DB}`,
      TEST_REDIS_URL: 'redis://127.0.0.1:6379',
    })
    expect(commands.find((command) => command.endsWith(' npm test'))).toContain(
      '-u TEST_DATABASE_URL -u TEST_REDIS_URL',
    )
    for (const command of commands.filter((each) => each.includes('test:long'))) {
      expect(command).toContain('TEST_EMBEDDED=off')
    }
  })
})

describe('test/vitest.config.ts', () => {
  /** Returns the alternatives of the braces in a pattern. */
  const expand = (pattern: string): string[] => {
    const [braces, inner] = /\{([^}]*)\}/.exec(pattern) ?? []
    return braces ? inner!.split(',').flatMap((each) => expand(pattern.replace(braces, each))) : [pattern]
  }
  const files = readdirSync(path('test'), { recursive: true, encoding: 'utf8' }).map((name) => `test/${name}`)
  const patterns = [...read('test/vitest.config.ts').matchAll(/'(test\/[^']*\.test\.ts)'/g)].flatMap(([, each]) =>
    expand(each!),
  )

  it('has patterns', () => {
    expect(patterns.length).toBeGreaterThan(15)
  })

  it.each(patterns)('names existing tests: %s', (pattern) => {
    const parts = pattern.split('**/').map((part) => part.replaceAll('.', '\\.').replaceAll('*', '[^/]*'))
    const matching = new RegExp(`^${parts.join('(.*/)?')}$`)
    expect(files.some((file) => matching.test(file))).toBe(true)
  })

  it('gives a process of its own to each file that replaces modules, which would break later files', () => {
    const replacing = files.filter(
      (file) => file.endsWith('.test.ts') && /\bvi\.(do)?(un)?(mock|resetModules)\(/i.test(read(file)),
    )
    const own = /const OWN_PROCESS = \[(.*?)\]/s.exec(read('test/vitest.config.ts'))![1]!
    expect(replacing.length).toBeGreaterThan(0)
    expect(replacing.filter((file) => !own.includes(`'${file}'`))).toEqual([])
  })
})
