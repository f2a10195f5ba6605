// The table of check:answers, and the success of the run.

import { expect, it } from 'vitest'
import { counted, informed, reportOf } from '../../../../scripts/answers/results.ts'

it('a report has a row for each result, and is ok only if all rows are ok', () => {
  const right = [counted('answered once', 1000, 1000), informed('aborted answers', '3')]
  expect(reportOf(right)).toEqual({
    lines: [
      'what             value  gate',
      '───────────────  ─────  ────  ──',
      'answered once    1000   1000  ok',
      'aborted answers  3            ok',
    ],
    isOk: true,
  })
  const { lines, isOk } = reportOf([...right, counted('not answered', 1, 0)])
  expect([lines.at(-1), isOk]).toEqual(['not answered     1      0     NOT OK', false])
})
