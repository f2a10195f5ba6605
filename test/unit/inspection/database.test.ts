// The findings of `colloquy doctor` for the states of a database, each with its next step.

import { describe, expect, it } from 'vitest'
import { findingsOfState, findingsOfWork, isOlder } from '../../../src/inspection/database.ts'
import type { DatabaseState, WorkState } from '../../../src/store/db/inspect-database.ts'

const STATE: DatabaseState = {
  version: '17.2',
  maxConnections: 100,
  isStandby: false,
  bytes: 3 * 2 ** 20,
  vector: { installed: '0.8.0', available: '0.8.0' },
  migrations: { missing: [] },
  invalidIndexes: [],
}
const WORK: WorkState = { isolation: null, embedding: { done: 5, remaining: 0, turns: 5 }, unindexed: 0, queues: [] }
const queue = (state: 'waiting' | 'retrying' | 'active', ageSeconds = 0) => ({ name: 'q', state, count: 2, ageSeconds })

it.each([
  ['0.7.4', '0.8.0', true],
  ['0.8.0', '0.8.0', false],
  ['0.8', '0.8.0', false],
  ['0.10.0', '0.8.0', false],
  ['1.0', '0.8.0', false],
])('%s is older than %s: %s', (a, b, expected) => {
  expect(isOlder(a, b)).toBe(expected)
})

describe('the state of a database', () => {
  it.each<[Partial<DatabaseState>, string[]]>([
    [{}, ['ok database', 'ok vector', 'ok migrations']],
    [{ isStandby: true }, ['failure database', 'ok vector', 'ok migrations']],
    [{ maxConnections: 9 }, ['ok database', 'warning connections', 'ok vector', 'ok migrations']],
    [{ vector: { installed: '0.7.0', available: '0.8.0' } }, ['ok database', 'failure vector', 'ok migrations']],
    [{ vector: { installed: null, available: '0.8.0' } }, ['ok database', 'warning vector', 'ok migrations']],
    [{ vector: { installed: null, available: null } }, ['ok database', 'failure vector', 'ok migrations']],
    [{ migrations: { missing: ['a', 'b'] } }, ['ok database', 'ok vector', 'warning migrations']],
    [{ migrations: { problem: 'newer' } }, ['ok database', 'ok vector', 'failure migrations']],
    [{ invalidIndexes: ['i'] }, ['ok database', 'ok vector', 'ok migrations', 'warning indexes']],
  ])('%j', (state, expected) => {
    const findings = findingsOfState({ ...STATE, ...state }, 10)
    expect(findings.map(({ state, check }) => `${state} ${check}`)).toEqual(expected)
    for (const { state, next } of findings) expect(next === null).toBe(state === 'ok')
  })
})

describe('the work that is due', () => {
  it.each<[Partial<WorkState>, string[]]>([
    [{}, ['ok isolation', 'ok vectors', 'ok jobs']],
    [{ isolation: 'a superuser' }, ['failure isolation']],
    [{ embedding: null }, ['ok isolation', 'warning vectors', 'ok jobs']],
    [{ embedding: { done: 1, remaining: 1, turns: 2 } }, ['ok isolation', 'warning vectors', 'ok jobs']],
    [{ unindexed: null }, ['ok isolation', 'ok vectors', 'ok jobs']],
    [{ unindexed: 20_001 }, ['ok isolation', 'ok vectors', 'warning indexes', 'ok jobs']],
    [{ queues: [queue('waiting', 600), queue('active', 9000)] }, ['ok isolation', 'ok vectors', 'ok jobs']],
    [{ queues: [queue('waiting', 601)] }, ['ok isolation', 'ok vectors', 'warning jobs']],
    [{ queues: [queue('retrying')] }, ['ok isolation', 'ok vectors', 'warning jobs']],
  ])('%j', (work, expected) => {
    const findings = findingsOfWork({ ...WORK, ...work }, 'static-1')
    expect(findings.map(({ state, check }) => `${state} ${check}`)).toEqual(expected)
  })
})
