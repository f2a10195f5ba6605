// Classification of failed requests: transient or permanent, too long or not, and the error message. embedder.test.ts
// tests whole exchanges.

import { APIConnectionError, APIError } from 'openai'
import { describe, expect, it } from 'vitest'
import { explain, TooLong, type ErrorContext } from '../../../../src/providers/openai/failure.ts'

const context: ErrorContext = {
  label: 'It',
  noun: 'embeddings',
  settings: { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', model: 'EMBEDDING_MODEL' },
  advice: 'Check it.',
  splitsRequests: true,
}
const explained = (status: number, message: string, headers: Record<string, string> = {}) =>
  explain(APIError.generate(status, { error: { message } }, undefined, new Headers(headers)), context)

describe('a request that is too long', () => {
  it.each([
    [400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"],
    [400, 'Requested 400000 tokens, max 300000 tokens per request'],
    [400, 'the input length exceeds the context length'],
    [413, '`inputs` must have less than 512 tokens. Given: 600'],
    [413, ''],
    [422, 'batch size 64 > maximum allowed batch size 32'],
    [500, 'input is too large to process. increase the physical batch size'],
  ])('is recognised by %i %s', (status, message) => {
    expect(explained(status, message)).toMatchObject({ failure: expect.any(TooLong), isTransient: false })
  })

  it.each([
    [400, 'model not found'],
    [401, 'token too long ago'],
    [500, 'out of memory'],
    [503, 'too many requests'],
  ])('is not assumed for %i %s', (status, message) => {
    expect(explained(status, message).failure).not.toBeInstanceOf(TooLong)
  })
})

it('an error like "too long" for a request that cannot be split is transient, because the cause may be another', () => {
  const error = APIError.generate(500, { error: { message: 'too large to process' } }, undefined, new Headers())
  expect(explain(error, { ...context, splitsRequests: false }).isTransient).toBe(true)
})

describe('the retry delay', () => {
  it.each([
    [{ 'retry-after': '2' }, 2_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '30' }, 30],
    [{ 'retry-after-ms': '30', 'retry-after': '2' }, 30],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
  ])('is read from %j', (headers, ms) => {
    expect(explained(503, 'busy', headers as Record<string, string>).pauseMs).toBe(ms)
  })
})

describe('the error message', () => {
  it('names the status, the code and the request, but repeats no text of the server', () => {
    const serverError = {
      message: 'Ada said: my PIN is 4711. Key sk-a***9 at http://10.0.0.5',
      code: 'model_not_found',
    }
    const headers = new Headers({ 'x-request-id': 'req_42' })
    expect(explain(APIError.generate(502, { error: serverError }, undefined, headers), context).failure.message).toBe(
      'It answered with status 502 (code model_not_found, request req_42).',
    )
  })

  it('omits identifiers that could be text', () => {
    const error = APIError.generate(502, { error: { code: 'Ada said 4711' } }, undefined, new Headers())
    expect(explain(error, context).failure.message).toBe('It answered with status 502.')
  })

  it('names the code of a connection error, but no address', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:8080'), { code: 'ECONNREFUSED' })
    const message = explain(new APIConnectionError({ cause: refused }), context).failure.message
    expect(message).toContain('It cannot be reached: ECONNREFUSED.')
    expect(message).not.toContain('10.0.0.5')
  })

  it('is not created for a programming error, which is rethrown', () => {
    const bug = new TypeError('x is not a function')
    expect(() => explain(bug, context)).toThrow(bug)
  })
})
