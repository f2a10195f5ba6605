// Methods and media types that are accepted, and the media types of answers.

import { describe, expect, test } from 'vitest'
import { asksForStream, isStreamOnly, mediaRefusal } from '../../../../src/server/http/media-types.ts'

test.each([
  [undefined, false, false],
  ['*/*', false, false],
  ['application/json, */*', false, false],
  ['text/event-stream', true, true],
  ['text/*', true, true],
  ['Text/Event-Stream; charset=utf-8', true, true],
  ['text/event-stream, application/json', true, false],
  ['application/json', false, false],
  ['application/graphql-response+json, application/json;q=0.9', false, false],
  ['multipart/mixed', false, false],
  ['text/event-stream; charset=latin1', false, false],
])('Accept: %s asks for a stream: %s, and accepts only a stream: %s', (accept, stream, only) => {
  expect(asksForStream(accept)).toBe(stream)
  expect(isStreamOnly(accept)).toBe(only)
})

describe('a request', () => {
  const json = { 'content-type': 'application/json' }
  test.each([
    ['POST', json, null],
    ['POST', { 'content-type': 'Application/JSON; charset=utf-8' }, null],
    ['POST', { 'content-type': 'application/graphql+json' }, null],
    ['POST', { 'content-type': 'application/x-www-form-urlencoded' }, null],
    ['GET', {}, null],
    ['OPTIONS', { accept: 'image/png' }, null],
    ['PUT', json, 405],
    ['HEAD', {}, 405],
    ['POST', {}, 415],
    ['POST', { 'content-type': 'multipart/form-data; boundary=x' }, 415],
    ['GET', { accept: 'image/png' }, 406],
    ['POST', { ...json, accept: 'application/json; charset=latin1' }, 406],
  ])('by %s with %j has the rejection status %s', (method, headers, status) => {
    expect(mediaRefusal(method, headers)?.status ?? null).toBe(status)
  })
})
