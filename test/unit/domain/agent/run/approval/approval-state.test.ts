// The state machine of an approval, event by event.

import { describe, expect, it } from 'vitest'
import {
  stepApproval,
  type ApprovalEvent,
  type ApprovalStep,
  type Decided,
  type Decision,
} from '../../../../../../src/domain/agent/run/approval/approval-state.ts'

const LIMIT = new Date('2026-11-22T12:00:00Z')
const BEFORE = new Date(LIMIT.getTime() - 1)

const pending: Decided = { state: 'PENDING', expiresAt: LIMIT, decidedBy: null, editedArguments: null, reason: null }
const approved: Decided = { ...pending, state: 'APPROVED', decidedBy: 'ann' }
const edited: Decided = { ...approved, editedArguments: { amount: 3, to: { name: 'bob' } } }
const denied: Decided = { ...pending, state: 'DENIED', decidedBy: 'ann', reason: 'Too much.' }
const expired: Decided = { ...pending, state: 'EXPIRED' }
const cancelled: Decided = { ...pending, state: 'CANCELLED' }

const approve: Decision = { by: 'ann', approve: true, arguments: null, reason: null }
const deny: Decision = { by: 'ann', approve: false, arguments: null, reason: 'Too much.' }
const edit: Decision = { ...approve, arguments: { to: { name: 'bob' }, amount: 3 } }

const decide = (decision: Decision, now = BEFORE): ApprovalEvent => ({ type: 'decide', decision, now })
const expire = (now = LIMIT): ApprovalEvent => ({ type: 'expire', now })
const cancel: ApprovalEvent = { type: 'cancel' }

const changed = (next: Decided['state']): ApprovalStep => ({ outcome: 'changed', next })
const refused = (because: 'DECIDED' | 'EXPIRED' | 'CANCELLED' | 'PENDING'): ApprovalStep => ({
  outcome: 'refused',
  because,
})
const repeated: ApprovalStep = { outcome: 'repeated' }

describe('an approval', () => {
  it.each<[string, Decided, ApprovalEvent, ApprovalStep]>([
    ['a pending one is approved', pending, decide(approve), changed('APPROVED')],
    ['a pending one is approved with edited arguments', pending, decide(edit), changed('APPROVED')],
    ['a pending one is denied', pending, decide(deny), changed('DENIED')],
    ['a pending one past its limit cannot be decided', pending, decide(approve, LIMIT), refused('EXPIRED')],
    ['a pending one expires at its limit', pending, expire(), changed('EXPIRED')],
    ['a pending one does not expire before its limit', pending, expire(BEFORE), refused('PENDING')],
    ['a pending one is cancelled', pending, cancel, changed('CANCELLED')],

    ['the same approval is a repeat', approved, decide(approve), repeated],
    ['the same approval is a repeat after the limit', approved, decide(approve, LIMIT), repeated],
    ['the same edit is a repeat, whatever the order of its keys', edited, decide(edit), repeated],
    ['the same denial is a repeat', denied, decide(deny), repeated],
    ['another decision is refused', approved, decide(deny), refused('DECIDED')],
    ['the same decision by another actor is refused', approved, decide({ ...approve, by: 'bob' }), refused('DECIDED')],
    ['an edit after an approval is refused', approved, decide(edit), refused('DECIDED')],
    ['an approval after an edit is refused', edited, decide(approve), refused('DECIDED')],
    ['a denial for another reason is refused', denied, decide({ ...deny, reason: null }), refused('DECIDED')],
    ['a decided one does not expire', approved, expire(), refused('DECIDED')],
    ['a decided one is not cancelled', denied, cancel, refused('DECIDED')],

    ['an expired one cannot be decided', expired, decide(approve), refused('EXPIRED')],
    ['expiring an expired one is a repeat', expired, expire(), repeated],
    ['an expired one is not cancelled', expired, cancel, refused('EXPIRED')],
    ['a cancelled one cannot be decided', cancelled, decide(deny), refused('CANCELLED')],
    ['a cancelled one does not expire', cancelled, expire(), refused('CANCELLED')],
    ['cancelling a cancelled one is a repeat', cancelled, cancel, repeated],
  ])('%s', (_, approval, event, step) => {
    expect(stepApproval(approval, event)).toEqual(step)
  })
})
