// The source of the result of a tool call: the server, the client, or the decision about the call.

import { describe, expect, it } from 'vitest'
import {
  callsToApprove,
  settleCalls,
  type CallDecision,
} from '../../../../../../src/domain/agent/run/tools/settle-calls.ts'
import {
  offeredTools,
  toolsOf,
  type OfferedTool,
  type Tool,
} from '../../../../../../src/domain/agent/run/tools/tools.ts'

const execute = () => null
const tool = (name: string, seconds: number | null, isOfServer: boolean): OfferedTool => ({
  name,
  schema: undefined,
  execute: isOfServer ? execute : null,
  approval: seconds === null ? null : { seconds },
})
const TOOLS = [tool('read', null, true), tool('pay', 60, true), tool('open', null, false), tool('order', 90, false)]
const call = (name: string) => ({ id: `id-${name}`, name, arguments: { of: name } })

describe('callsToApprove', () => {
  it('returns the calls of tools that require approval, with their time limits, in order', () => {
    expect(callsToApprove(['order', 'read', 'pay', 'open', 'unknown'].map(call), TOOLS)).toEqual([
      { callId: 'id-order', toolName: 'order', seconds: 90 },
      { callId: 'id-pay', toolName: 'pay', seconds: 60 },
    ])
  })
})

describe('settleCalls', () => {
  const decided = (state: CallDecision['state'], more: Partial<CallDecision> = {}): CallDecision => ({
    ...{ state, editedArguments: null, reason: null, isChanged: false },
    ...more,
  })
  it.each<[string, string, CallDecision | null, object]>([
    ['executes a call without approval', 'read', null, { by: 'SERVER', edited: null }],
    ['leaves a call to its client', 'open', null, { by: 'CALLER' }],
    ['executes an approved call', 'pay', decided('APPROVED'), { by: 'SERVER', edited: null }],
    [
      'executes an approved call with edited arguments',
      'pay',
      decided('APPROVED', { editedArguments: { of: 'less' } }),
      { by: 'SERVER', edited: { of: 'less' } },
    ],
    [
      'executes no call that is not the approved one',
      'pay',
      decided('APPROVED', { isChanged: true }),
      {
        by: 'DECISION',
        result: { error: 'The call was not executed: its tool, id or arguments are not the approved ones.' },
      },
    ],
    [
      'answers a denied call by the denial, even if it is not the call of the approval',
      'pay',
      decided('DENIED', { isChanged: true }),
      { by: 'DECISION', result: { error: 'The call was denied.' } },
    ],
    ['leaves an approved call to its client', 'order', decided('APPROVED'), { by: 'CALLER' }],
    [
      'answers a denied call with the reason',
      'order',
      decided('DENIED', { reason: 'Too much.' }),
      { by: 'DECISION', result: { error: 'The call was denied.', reason: 'Too much.' } },
    ],
    [
      'answers a denied call without a reason',
      'pay',
      decided('DENIED'),
      { by: 'DECISION', result: { error: 'The call was denied.' } },
    ],
    [
      'answers a call whose approval expired',
      'pay',
      decided('EXPIRED'),
      { by: 'DECISION', result: { error: 'Nobody approved the call in time.' } },
    ],
    [
      'does not execute a call whose approval was cancelled',
      'pay',
      decided('CANCELLED'),
      { by: 'DECISION', result: { error: 'The approval of the call was cancelled.' } },
    ],
    [
      'does not execute a call that waits for a decision',
      'pay',
      decided('PENDING'),
      { by: 'DECISION', result: { error: 'Nobody has approved the call.' } },
    ],
    [
      'does not execute a call that was never approved',
      'pay',
      null,
      { by: 'DECISION', result: { error: 'Nobody has approved the call.' } },
    ],
    ['applies a decision about a tool that no longer requires approval', 'read', decided('DENIED'), { by: 'DECISION' }],
  ])('%s', (_, name, decision, expected) => {
    const decisions = new Map(decision ? [[`id-${name}`, decision]] : [])
    expect(settleCalls([call(name)], TOOLS, decisions)).toMatchObject([{ call: call(name), ...expected }])
  })
})

describe('offeredTools', () => {
  const pay: Tool = { name: 'pay', execute, requiresApproval: true, approvalSeconds: 60 }
  const read: Tool = { name: 'read', execute }
  const registered = toolsOf([pay, read])
  it.each([
    ['that of the registered tool', undefined, 'pay', { seconds: 60 }],
    ['that of the registered tool for its name', [{ name: 'pay' }], 'pay', { seconds: 60 }],
    ['a definition cannot remove it', [{ name: 'pay', requiresApproval: false }], 'pay', { seconds: 60 }],
    ['a definition can set the time limit', [{ name: 'pay', approvalSeconds: 5 }], 'pay', { seconds: 5 }],
    ['a definition can add it', [{ name: 'read', requiresApproval: true }], 'read', { seconds: 7 * 86_400 }],
    ['none by default', [{ name: 'read' }], 'read', null],
    [
      'the tool of a client',
      [{ name: 'order', schema: {}, requiresApproval: true, approvalSeconds: 30 }],
      'order',
      { seconds: 30 },
    ],
  ])('returns the required approval of a tool: %s', (_, defined, name, approval) => {
    expect(offeredTools(defined, registered).find((each) => each.name === name)).toMatchObject({ approval })
  })

  it('rejects a registered tool with a bad time limit', () => {
    for (const approvalSeconds of [0, 1.5, 91 * 86_400]) {
      expect(() => toolsOf([{ ...pay, approvalSeconds }])).toThrow('approvalSeconds of the tool pay must be 1 to')
    }
  })
})
