// The value that is shown while a key changes, and after a failure.

import { describe, expect, it } from 'vitest'
import { afterFailure, stateFor } from '../../../../src/web/kit/load.ts'

const loaded = { key: '"a"', value: 1, isPrevious: false, error: null, isLoading: false }
const loadingB = { key: '"b"', value: null, isPrevious: false, error: null, isLoading: true }

describe('stateFor', () => {
  it.each([
    ['the same key', loaded, '"a"', false, loaded],
    ['another key', loaded, '"b"', false, loadingB],
    ['another key, if the previous value is kept', loaded, '"b"', true, { ...loadingB, value: 1, isPrevious: true }],
    ['another key after a failure', { ...loaded, error: 'No.' }, '"b"', false, loadingB],
    ['nothing', loaded, 'null', true, { key: 'null', value: null, isPrevious: false, error: null, isLoading: false }],
  ])('of %s', (_, kept, key, keepsPrevious, expected) => expect(stateFor(kept, key, keepsPrevious)).toEqual(expected))
})

describe('afterFailure', () => {
  it.each([
    ['the value of the same key stays', { ...loaded, isLoading: true }, 1],
    ['the value of the previous key does not', { ...loadingB, value: 1, isPrevious: true }, null],
  ])('%s', (_, kept, value) =>
    expect(afterFailure<number>(kept, 'No.')).toEqual({
      ...kept,
      value,
      isPrevious: false,
      error: 'No.',
      isLoading: false,
    }),
  )
})
