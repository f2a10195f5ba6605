// Request bodies that are rejected because of their headers.

import { expect, test } from 'vitest'
import { BATCH_HEADER, bodyRefusal } from '../../src/server/body-gate.ts'

const limits = { bodyBytes: 100, batchBodyBytes: 1_000, bodyTimeoutMs: 1_000 }

test.each([
  ['of the maximum size is accepted', { 'content-length': '100' }, null],
  ['above the maximum size is rejected with 413', { 'content-length': '101' }, 413],
  ['of a batch of the maximum size is accepted', { 'content-length': '1000', [BATCH_HEADER]: '1' }, null],
  ['of a batch above the maximum size is rejected with 413', { 'content-length': '1001', [BATCH_HEADER]: '1' }, 413],
  [
    'with another value of the batch header is limited like any other',
    { 'content-length': '101', [BATCH_HEADER]: 'true' },
    413,
  ],
  ['of unknown length is rejected with 411', {}, 411],
])('a body %s', (_, headers, status) => {
  expect(bodyRefusal(headers, limits)?.status ?? null).toBe(status)
})

test('the message names the batch header only if batches may be larger', () => {
  const message = (length: string, more = limits) => bodyRefusal({ 'content-length': length }, more)!.message
  expect(message('101')).toContain('at most 1000 bytes, send the header "x-batch: 1"')
  expect(message('101', { ...limits, batchBodyBytes: 100 })).toBe('The body has 101 bytes; at most 100 are accepted.')
})
