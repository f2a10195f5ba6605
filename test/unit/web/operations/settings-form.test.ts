// The form of the tenant's settings: it covers the input of the API, sends changes only, and keeps the limits.

import { type GraphQLInputObjectType } from 'graphql'
import { expect, it } from 'vitest'
import type { Settings } from '../../../../src/web/operations/requests.ts'
import { changesOf, FIELDS, problemOf, unitOf, valuesOf } from '../../../../src/web/operations/settings-form.ts'
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
  ['ttlSeconds', '0', /from 1 to 2,147,483,647 seconds/],
  ['ttlSeconds', '2147483648', /seconds/],
  ['tokensPerDay', '0', null],
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
  ['', 'days'],
  ['86400', 'days'],
  ['7200', 'hours'],
  ['90', 'seconds'],
  ['5400', 'minutes'],
])('%s seconds are shown in %s', (seconds, unit) => expect(unitOf(seconds)).toBe(unit))
