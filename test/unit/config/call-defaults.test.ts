// The settings with the defaults of calls: their limits are those of the calls, and AUDIT_ONLY needs a key.

import { expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { MAX_HITS, MAX_TOKENS } from '../../../src/domain/kernel/call-defaults.ts'
import { MAX_TTL_SECONDS } from '../../../src/domain/conversation/retention-policy.ts'
import { problemsOf } from '../../support/environment.ts'

it.each([
  ['CONTEXT_TOKEN_BUDGET', 'tokenBudget', MAX_TOKENS],
  ['RECALL_HITS', 'recallHits', MAX_HITS],
  ['CONVERSATION_TTL_SECONDS', 'ttlSeconds', MAX_TTL_SECONDS],
] as const)('%s is a whole number from 1 to the maximum of a call', (name, field, max) => {
  expect(loadConfig({ [name]: String(max) }).defaults[field]).toBe(max)
  for (const value of ['0', String(max + 1)]) {
    expect(problemsOf({ [name]: value })).toEqual([`${name} is "${value}": must be a whole number from 1 to ${max}`])
  }
})

it('RECALL_THRESHOLD is a number from 0 to 1', () => {
  for (const value of ['0', '1', '0.75', '1.0']) {
    expect(loadConfig({ RECALL_THRESHOLD: value }).defaults.recallThreshold).toBe(Number(value))
  }
  for (const value of ['1.01', '-1', '.5', '1e-3', 'x']) {
    expect(problemsOf({ RECALL_THRESHOLD: value })).toEqual([
      `RECALL_THRESHOLD is "${value}": must be a number from 0 to 1`,
    ])
  }
})

it('RETENTION is one of the retentions, and AUDIT_ONLY requires a key', () => {
  expect(problemsOf({ RETENTION: 'AUDIT_ONLY' })).toEqual(['RETENTION is "AUDIT_ONLY": requires INTEGRITY_KEY'])
  const env = { RETENTION: 'AUDIT_ONLY', INTEGRITY_KEY: 'k'.repeat(32) }
  expect(loadConfig(env).defaults.retention).toBe('AUDIT_ONLY')
  expect(problemsOf({ RETENTION: 'NONE' })).toEqual(['RETENTION is "NONE": must be one of FULL, AUDIT_ONLY, EPHEMERAL'])
})
