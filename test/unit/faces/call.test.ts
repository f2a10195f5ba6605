// Calls of verbs: the variables of an input, and the errors of a result.

import { GraphQLError } from 'graphql'
import { describe, expect, it, vi } from 'vitest'
import { answerOf, callVerb, failureOf, operationOf, variablesOf } from '../../../src/faces/call.ts'
import { verbEntries, VERBS } from '../../../src/faces/verbs.ts'

describe('variablesOf', () => {
  it('passes the fields of a mutation as `input`, and others as variables', () => {
    expect(variablesOf('appendTurn', { conversationId: 'c', turn: { role: 'USER' } })).toEqual({
      input: { conversationId: 'c', turn: { role: 'USER' } },
    })
    expect(variablesOf('turns', { conversationId: 'c', first: 1 })).toEqual({ conversationId: 'c', first: 1 })
    expect(variablesOf('renderContext', { tokenBudget: 9, format: 'OPENAI' })).toEqual({
      input: { tokenBudget: 9 },
      format: 'OPENAI',
    })
  })

  it('refuses an unknown name, and names the most similar input', () => {
    expect(() => variablesOf('recall', { qeury: 'x' })).toThrow('qeury: recall has no such input. Did you mean query?')
    expect(() => variablesOf('recall', { input: {} })).toThrow('input: recall has no such input')
  })
})

describe('failureOf', () => {
  it('has the issues of all errors, without the variable of the document', () => {
    const issue = (path: string[], message: string) =>
      new GraphQLError(message, { extensions: { code: 'INVALID_INPUT', issues: [{ path, message }] } })
    const failure = failureOf([
      issue(
        ['input', 'turn'],
        'Variable "$input" got invalid value { a: 1 } at "input.turn"; Field "role" is missing.',
      ),
      issue(['first'], 'Variable "$first" got invalid value "x"; Int cannot represent "x"'),
    ])
    expect(failure).toMatchObject({
      code: 'INVALID_INPUT',
      message: 'turn: Field "role" is missing.; first: Int cannot represent "x"',
      issues: [
        { path: ['turn'], message: 'Field "role" is missing.' },
        { path: ['first'], message: 'Int cannot represent "x"' },
      ],
    })
  })

  it('keeps the details, without those for HTTP', () => {
    const extensions = { code: 'RATE_LIMITED', retryAfterSeconds: 3, http: { status: 429 } }
    expect(failureOf([new GraphQLError('Wait.', { extensions })])).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'Wait.',
      details: { retryAfterSeconds: 3 },
    })
  })
})

describe('answerOf', () => {
  it('returns the innermost value, or the error of the union', () => {
    expect(answerOf('turns', {}, { data: { conversation: { turns: { nodes: [] } } } })).toEqual({ nodes: [] })
    const error = { __typename: 'NotAllowed', code: 'NOT_ALLOWED', message: 'No.', right: 'write' }
    expect(() => answerOf('appendTurn', {}, { data: { appendTurn: error } })).toThrow(
      expect.objectContaining({ code: 'NOT_ALLOWED', message: 'No.', details: { right: 'write' } }),
    )
  })

  it.each([
    [
      'turns',
      { conversationKey: 'k', as: 'bob' },
      { conversation: null },
      'There is no conversation "k" that you can see.',
    ],
    ['userProfile', { userId: 'ada' }, { userProfile: null }, 'There is no user profile "ada" that you can see.'],
  ] as const)('%s of %j is missing', (verb, input, data, message) => {
    expect(() => answerOf(verb, input, { data })).toThrow(expect.objectContaining({ code: 'NOT_FOUND', message }))
  })
})

describe('the table of verbs', () => {
  it('has a different route for each verb, and a description and an input for each parameter', () => {
    const routes = verbEntries().map(([, { route }]) => route.replaceAll(/\{\w+\}/g, '{}'))
    expect(new Set(routes).size).toBe(routes.length)
    for (const [verb, { route, idempotencyKey, expectedVersion }] of verbEntries()) {
      const { inputs, description } = operationOf(verb)
      const names = inputs.map(({ name }) => name)
      expect(description, verb).toMatch(/\w\./)
      for (const [, name] of route.matchAll(/\{(\w+)\}/g)) {
        if (name === 'conversation')
          expect(names).toEqual(expect.arrayContaining(['conversationId', 'conversationKey']))
        else expect(names).toContain(name)
      }
      for (const name of [idempotencyKey?.[0], expectedVersion]) if (name) expect(names).toContain(name)
    }
  })

  it('is executed with its document', async () => {
    const execute = vi.fn(async () => ({ data: { run: { id: 'r' } } }))
    expect(await callVerb('run', { runId: 'r' }, execute)).toEqual({ id: 'r' })
    expect(execute).toHaveBeenCalledWith(operationOf('run').document, VERBS.run.document, { runId: 'r' })
  })
})
