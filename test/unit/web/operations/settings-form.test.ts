// The form of the tenant's settings: it covers the input of the API, sends changes only, and keeps the limits.

import { type GraphQLInputObjectType } from 'graphql'
import { expect, it } from 'vitest'
import type { Settings } from '../../../../src/web/operations/requests.ts'
import { changesOf, durationIn, FIELDS, problemOf, valuesOf } from '../../../../src/web/operations/settings-form.ts'
import { schema } from '../../../../src/graphql/schema.ts'

const settings: Settings = {
  redact: null,
  retention: 'FULL',
  ttlSeconds: 86_400,
  contextStrategy: 'SIMPLE',
  tokenBudget: null,
  recallHits: 5,
  recallThreshold: 0.25,
  tokensPerDay: 0,
  redactInEffect: 'OFF',
  defaultsInEffect: {
    contextStrategy: 'SIMPLE',
    recallHits: 5,
    recallThreshold: 0.25,
    retention: 'FULL',
    tokenBudget: 16_000,
    ttlSeconds: 86_400,
  },
}

it('has a field for each setting of the API', () => {
  const input = schema.getType('UpdateTenantSettingsInput') as GraphQLInputObjectType
  const names = Object.keys(input.getFields()).filter((name) => name !== 'as')
  expect(FIELDS.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
})

it.each(FIELDS.filter((field) => field.kind === 'choice').map((field) => [field.name, field.options] as const))(
  'the choices of %s are those of the API',
  (name, options) => {
    const input = schema.getType('UpdateTenantSettingsInput') as GraphQLInputObjectType
    const { values } = (input.getFields()[name]!.type as any).toConfig()
    expect(Object.keys(options).toSorted()).toEqual(Object.keys(values).toSorted())
  },
)

it.each([
  [{}, {}],
  [{ redact: 'TURNS' }, { redact: 'TURNS' }],
  [{ ttlSeconds: '' }, { ttlSeconds: null }],
  [{ tokensPerDay: '' }, { tokensPerDay: null }],
  [
    { tokenBudget: ' 2000 ', recallThreshold: '0.5' },
    { tokenBudget: 2000, recallThreshold: 0.5 },
  ],
  [{ recallHits: '5 ' }, {}],
  [{ retention: '' }, { retention: null }],
  [{ ttlSeconds: '24 hours' }, {}],
  [{ ttlSeconds: '2 hours' }, { ttlSeconds: 7_200 }],
  [{ tokensPerDay: '1e' }, { tokensPerDay: NaN }],
])('the values %o change %o', (given, changes) =>
  expect(changesOf(settings, { ...valuesOf(settings), ...given })).toEqual(changes),
)

it.each([
  ['tokenBudget', '', null],
  ['tokenBudget', '1', null],
  ['tokenBudget', '0', /from 1 to 2,000,000/],
  ['tokenBudget', '1.5', /whole number/],
  ['tokenBudget', 'many', /whole number/],
  ['recallThreshold', '0.5', null],
  ['recallThreshold', '1.01', /from 0 to 1/],
  ['recallHits', '101', /from 1 to 100/],
  ['ttlSeconds', '0 days', /from 1 to 2,147,483,647 seconds/],
  ['ttlSeconds', '2147483648 seconds', /seconds/],
  ['ttlSeconds', '1e days', /whole number/],
  ['ttlSeconds', '0.5 hours', null],
  ['ttlSeconds', '', null],
  ['tokensPerDay', '0', null],
  ['tokensPerDay', '1e', /whole number/],
  ['recallThreshold', '-', /a number/],
  ['redact', 'TURNS', null],
])('%s "%s" has the problem %s', (name, value, problem) => {
  const found = problemOf(
    FIELDS.find((field) => field.name === name)!,
    value,
  )
  if (problem === null) expect(found).toBeNull()
  else expect(found).toMatch(problem)
})

it.each([
  [null, ''],
  [86_400, '1 days'],
  [7_200, '2 hours'],
  [90, '90 seconds'],
  [5_400, '90 minutes'],
])('a duration of %s s is shown as "%s"', (ttlSeconds, text) =>
  expect(valuesOf({ ...settings, ttlSeconds }).ttlSeconds).toBe(text),
)

it.each([
  ['2 hours', { number: '2', unit: 'hours' }],
  ['1e minutes', { number: '1e', unit: 'minutes' }],
  ['', { number: '', unit: 'days' }],
])('the duration "%s" has the parts %o', (text, parts) => expect(durationIn(text)).toEqual(parts))
