// The settings that `colloquy doctor` calls unsafe: none on a loopback address, and each of them on a network.

import { expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { inspectSettings } from '../../../src/inspection/settings.ts'

const SAFE = {
  HOST: '0.0.0.0',
  AUTH_MODE: 'keys',
  DATABASE_URL: 'postgres://db/x',
  INTEGRITY_KEY: 'k'.repeat(32),
  RATE_LIMIT_POINTS: '1000',
}
const unsafe = (env: Record<string, string>) =>
  inspectSettings(loadConfig(env)).flatMap(({ check, state }) => (state === 'warning' ? [check] : []))

it.each<[Record<string, string>, string[]]>([
  [{}, []],
  [{ METRICS_PORT: '9100' }, []],
  [SAFE, []],
  [{ ...SAFE, AUTH_MODE: 'none', ALLOW_UNAUTHENTICATED: '1' }, ['authentication']],
  [{ ...SAFE, ECHO_PROVIDER: '1' }, ['echo']],
  [{ ...SAFE, INTROSPECTION: '1' }, ['introspection']],
  [{ ...SAFE, GRAPHIQL: '1' }, ['introspection']],
  [{ ...SAFE, METRICS_PORT: '9100', METRICS_HOST: '10.0.0.1' }, ['metrics']],
  [{ ...SAFE, RATE_LIMIT_POINTS: '' }, ['rate limit']],
  [{ ...SAFE, INTEGRITY_KEY: '' }, ['audit log']],
  [{ ...SAFE, DATABASE_URL: '' }, ['durability']],
])('of %j: %j', (env, checks) => {
  expect(unsafe(env)).toEqual(checks)
})
