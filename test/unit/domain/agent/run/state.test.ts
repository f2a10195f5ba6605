// The state machine of a run, as a table: each state with each event.

import { describe, expect, it } from 'vitest'
import { isEnded, step, type RunEvent } from '../../../../../src/domain/agent/run/state.ts'
import { RunState } from '../../../../../src/store/generated/enums.ts'

const EVENTS: RunEvent[] = ['complete', 'await-tools', 'await-approval', 'continue', 'fail', 'cancel']

const TABLE: Record<RunState, (RunState | 'repeated' | 'refused')[]> = {
  RUNNING: ['COMPLETED', 'WAITING_FOR_TOOLS', 'WAITING_FOR_APPROVAL', 'refused', 'FAILED', 'CANCELLED'],
  WAITING_FOR_TOOLS: ['refused', 'refused', 'refused', 'RUNNING', 'FAILED', 'CANCELLED'],
  WAITING_FOR_APPROVAL: ['refused', 'refused', 'refused', 'RUNNING', 'FAILED', 'CANCELLED'],
  COMPLETED: ['refused', 'refused', 'refused', 'refused', 'refused', 'refused'],
  FAILED: ['refused', 'refused', 'refused', 'refused', 'refused', 'refused'],
  CANCELLED: ['refused', 'refused', 'refused', 'refused', 'refused', 'repeated'],
}

describe('the state machine of a run', () => {
  const cases = Object.entries(TABLE).flatMap(([state, row]) =>
    EVENTS.map((event, index) => ({ state: state as RunState, event, expected: row[index]! })),
  )

  it.each(cases)('$state with $event is $expected', ({ state, event, expected }) => {
    const result = step(state, event)
    expect(result.outcome === 'changed' ? result.next : result.outcome).toBe(expected)
  })

  it('has the ended states COMPLETED, FAILED and CANCELLED', () => {
    expect(Object.values(RunState).filter(isEnded)).toEqual(['COMPLETED', 'FAILED', 'CANCELLED'])
  })
})
