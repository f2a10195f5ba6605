// Tests that the public workflow runs the steps of .ci/run, on two versions of Node: the oldest one that package.json
// allows, and the one in the Dockerfile.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')

type Step = { run?: string; env?: Record<string, string> }
type Service = { image: string; env?: Record<string, string>; ports: string[] }
type Workflow = {
  jobs: { test: { strategy: { matrix: { node: number[] } }; services: Record<string, Service>; steps: Step[] } }
}
const { strategy, services, steps } = (parse(read('.github/workflows/ci.yml')) as Workflow).jobs.test

const isNotBuild = (command: string) => command !== 'npm run build'

describe('.github/workflows/ci.yml', () => {
  it('runs the steps of .ci/run in the same order, and the build', () => {
    const local = [...read('.ci/run').matchAll(/^(?:step|run_tests) .*?\b(npm .+)$/gm)].map(([, command]) => command!)
    expect(local.length).toBeGreaterThan(5)
    const commands = steps.flatMap(({ run }) => run ?? [])
    expect(commands.filter(isNotBuild)).toEqual(local.filter(isNotBuild))
    expect(commands).toContain('npm run build')
  })

  it('runs on the oldest supported version of Node and on the version in the Dockerfile', () => {
    const [oldest] = /\d+/.exec((JSON.parse(read('package.json')) as { engines: { node: string } }).engines.node)!
    const [, image] = /^FROM node:(\d+)/m.exec(read('Dockerfile'))!
    expect(strategy.matrix.node).toEqual([Number(oldest), Number(image)])
  })

  it('runs test:long against its own services, which have the images of docker-compose.yml', () => {
    const compose = parse(read('docker-compose.yml')) as { services: Record<string, { image?: string }> }
    for (const name of ['postgres', 'redis']) expect(services[name]!.image).toBe(compose.services[name]!.image)
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services.postgres!.env!
    expect(steps.find(({ run }) => run === 'npm run test:long')!.env).toEqual({
      TEST_EMBEDDED: 'off',
      TEST_DATABASE_URL: `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@127.0.0.1:5432/${POSTGRES_DB}`,
      TEST_REDIS_URL: 'redis://127.0.0.1:6379',
    })
  })
})
