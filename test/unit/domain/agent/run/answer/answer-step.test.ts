// The next step of the server for a wake-up, depending on the number of attempts and the run of the last one.

import { describe, expect, it } from 'vitest'
import { answerStep, MAX_ANSWER_RUNS } from '../../../../../../src/domain/agent/run/answer/answer-step.ts'
import { RUN_ERRORS } from '../../../../../../src/domain/agent/run/answer/failure.ts'

const run = (
  state: 'RUNNING' | 'WAITING_FOR_TOOLS' | 'WAITING_FOR_APPROVAL' | 'COMPLETED' | 'FAILED' | 'CANCELLED',
) => ({ state, errorCode: state === 'FAILED' ? 'PROVIDER_FAILED' : null })

describe('the next step for a wake-up', () => {
  it.each([
    [0, null, { do: 'start' }],
    [1, null, { do: 'start' }],
    [MAX_ANSWER_RUNS - 1, null, { do: 'start' }],
    [MAX_ANSWER_RUNS, null, { do: 'drop', reason: 'AGENT_FAILED' }],
    [1, run('RUNNING'), { do: 'wait' }],
    [1, run('WAITING_FOR_TOOLS'), { do: 'wait' }],
    [MAX_ANSWER_RUNS, run('WAITING_FOR_APPROVAL'), { do: 'wait' }],
    [1, run('COMPLETED'), { do: 'end' }],
    [MAX_ANSWER_RUNS, run('COMPLETED'), { do: 'end' }],
    [1, run('CANCELLED'), { do: 'drop', reason: 'RUN_CANCELLED' }],
    [1, run('FAILED'), { do: 'start' }],
    [MAX_ANSWER_RUNS, run('FAILED'), { do: 'drop', reason: 'AGENT_FAILED' }],
  ] as const)('after %i attempts, with the run %j, is %j', (attempts, last, step) => {
    expect(answerStep(attempts, last)).toEqual(step)
  })

  it('is to drop the wake-up after a failure that a further attempt cannot avoid', () => {
    const dropped = RUN_ERRORS.filter((errorCode) => answerStep(1, { state: 'FAILED', errorCode }).do === 'drop')
    expect(dropped).toEqual(['REPLY_TOO_LONG', 'TOO_MANY_ROUNDS', 'BUDGET_TOO_SMALL', 'AGENT_LEFT', 'EXPIRED'])
  })
})
