// The check at the start that the installed executor counts values as Work expects.

import { describe, expect, it } from 'vitest'
import { checkExecutor, WrongExecutor } from '../../../../src/graphql/limits/executor-check.ts'

type Args = { document: { definitions: { selectionSet: { selections: unknown[] } }[] }; signal: AbortSignal }

/** An executor that checks the signal this often for each field. */
const executor = (checks: number) => (args: object) => {
  const { document, signal } = args as Args
  const fields = document.definitions[0]!.selectionSet.selections.length
  for (let n = 0; n < 3 + fields * checks; n++) signal.throwIfAborted()
}

describe('the check of the executor', () => {
  it('accepts the installed executor', () => {
    expect(() => checkExecutor()).not.toThrow()
  })

  it('accepts an executor with the expected number of checks', () => {
    expect(() => checkExecutor(executor(2))).not.toThrow()
  })

  it.each([0, 1, 3])('rejects an executor that checks the signal %i times for each value', (checks) => {
    expect(() => checkExecutor(executor(checks))).toThrow(WrongExecutor)
    expect(() => checkExecutor(executor(checks))).toThrow(`${checks} times for each value`)
  })
})
