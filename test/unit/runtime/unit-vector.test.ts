// The dot product of vectors.

import { expect, it } from 'vitest'
import { dot } from '../../../src/runtime/unit-vector.ts'

it.each([0, 1, 3, 4, 7, 9])('the dot product has all %d components', (size) => {
  const a = Float32Array.from({ length: size }, (_, d) => d + 1)
  const b = Float32Array.from({ length: size }, (_, d) => 10 ** d)
  expect(dot(a, b)).toBe(a.reduce((sum, component, d) => sum + component * 10 ** d, 0))
})

it('a dot product with a part of a longer array starts at its index', () => {
  expect(dot(Float32Array.of(1, 2, 3, 4, 5), Float32Array.of(9, 9, 1, 1, 1, 1, 2, 9), 2)).toBe(20)
})
