// The conditions of the table of rights that a change of a participant meets; each of them needs a further right.

import { describe, expect, it } from 'vitest'
import {
  conditionsOfAdding,
  conditionsOfChanging,
  conditionsOfRemoving,
} from '../../../../../src/domain/conversation/participant/participant-conditions.ts'
import { RIGHTS } from '../../../../../src/domain/kernel/rights/principal.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'

const viewer: Viewer = {
  tenant: 'default',
  actor: 'bot',
  principal: {
    tenant: 'default',
    actor: 'bot',
    kind: 'AGENT',
    rights: new Set(RIGHTS),
    conversations: null,
    credential: 'key:test',
    expiresAt: null,
  },
}
const present = { leftAt: null, removed: false, historyVisibility: 'ALL' as const, administrator: false, agent: null }
const left = { ...present, leftAt: new Date() }
const removed = { ...left, removed: true }
const since = { ...left, historyVisibility: 'SINCE_JOINED' as const }
const administrator = { ...present, administrator: true }

describe('adding a participant', () => {
  it.each([
    [{ actor: 'bot' }, null, []],
    [{ actor: 'bot', kind: 'AGENT' }, null, []],
    [{ actor: 'bot', kind: 'HUMAN' }, null, ['ownKind']],
    [{ actor: 'bot', kind: 'HUMAN' }, present, []],
    [{ actor: 'bot' }, left, []],
    [{ actor: 'bot' }, removed, ['afterRemoval']],
    [{ actor: 'bot' }, since, []],
    [{ actor: 'bot', historyVisibility: 'ALL' }, since, ['history']],
    [{ actor: 'bot', historyVisibility: 'SINCE_JOINED' }, left, []],
    [{ actor: 'ada', kind: 'HUMAN' }, null, ['foreignKind', 'otherParticipant']],
    [{ actor: 'ada', kind: 'HUMAN' }, left, ['foreignKind', 'otherParticipant']],
    [{ actor: 'ada', kind: 'HUMAN' }, present, ['otherParticipant']],
    [{ actor: 'ada', kind: 'AGENT' }, null, ['otherParticipant']],
    [{ actor: 'ada', kind: 'TOOL' }, null, ['otherParticipant']],
    [{ actor: 'ada' }, removed, ['otherParticipant']],
    [{ actor: 'ada', administrator: false }, null, ['otherParticipant']],
    [{ actor: 'ada', administrator: true }, null, ['administrator', 'otherParticipant']],
    [{ actor: 'ada', administrator: true }, administrator, ['otherParticipant']],
    [{ actor: 'ada', administrator: false }, administrator, ['administrator', 'otherParticipant']],
    [{ actor: 'bot', administrator: true }, present, ['administrator']],
    [{ actor: 'bot', agent: { provider: 'echo' } }, null, ['agentSettings']],
    [{ actor: 'bot', agent: { provider: 'echo' } }, { ...present, agent: { provider: 'echo' } }, []],
    [{ actor: 'ada', agent: { provider: 'echo' } }, present, ['agentSettings', 'otherParticipant']],
    [{ actor: 'bot', agent: null }, { ...present, agent: { provider: 'echo' } }, []],
  ] as const)('with %j, stored as %j, meets %j', (given, stored, conditions) => {
    expect(conditionsOfAdding(viewer, given, stored)).toEqual(conditions)
  })
})

describe('changing a participant', () => {
  it.each([
    [{ actor: 'bot' }, present, []],
    [{ actor: 'bot', historyVisibility: 'ALL' }, since, ['history']],
    [{ actor: 'bot', historyVisibility: 'ALL' }, present, []],
    [{ actor: 'bot', administrator: true }, present, ['administrator']],
    [{ actor: 'bot', administrator: false }, administrator, []],
    [{ actor: 'ada' }, present, ['otherParticipant']],
    [{ actor: 'ada' }, administrator, ['otherParticipant', 'administrator']],
    [{ actor: 'owner' }, present, ['otherParticipant', 'administrator']],
    [{ actor: 'nobody' }, null, ['otherParticipant']],
    [{ actor: 'bot', agent: { provider: 'echo' } }, present, ['agentSettings']],
    [{ actor: 'bot', agent: { provider: 'echo' } }, { ...present, agent: { provider: 'echo' } }, []],
    [{ actor: 'bot', agent: null }, { ...present, agent: { provider: 'echo' } }, []],
  ] as const)('with %j, stored as %j, meets %j', (given, stored, conditions) => {
    expect(conditionsOfChanging(viewer, given, stored, 'owner')).toEqual(conditions)
  })
})

it('leaving a conversation meets no condition, even for an administrator', () => {
  expect(conditionsOfRemoving(viewer, 'bot', administrator, 'bot')).toEqual([])
})
