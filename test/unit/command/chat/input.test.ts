// The input of `colloquy chat`: what a line means, what Tab completes, and the answers about a tool call.

import { describe, expect, it } from 'vitest'
import { complete, parseDecision, parseInput, type Decision, type Input } from '../../../../src/command/chat/input.ts'

const turn = (text: string, audience: string[] | null = null): Input => ({ kind: 'turn', text, audience })
const command = (name: string, argument = '') => ({ kind: 'command', name, argument })
const mistake = (message: RegExp) => ({ kind: 'mistake', message: expect.stringMatching(message) })

it.each<[string, object]>([
  ['', { kind: 'nothing' }],
  ['  \t', { kind: 'nothing' }],
  [' Hello, @bot! ', turn('Hello, @bot!')],
  ['//etc/hosts', turn('/etc/hosts')],
  ['1/2', turn('1/2')],
  ['/sessions', command('sessions')],
  ['/load boat', command('load', 'boat')],
  ['/history', command('history')],
  ['/history 5', command('history', '5')],
  ['/recall which mast', command('recall', 'which mast')],
  ['/q', command('quit')],
  ['/?', command('help')],
  ['/w bob psst', turn('psst', ['bob'])],
  ['/whisper @bob,ann two words', turn('two words', ['bob', 'ann'])],
  ['/whisper bob', mistake(/^Usage: \/whisper NAME/)],
  ['/whisper , x', mistake(/^Usage: \/whisper NAME/)],
  ['/load', mistake(/^Usage: \/load KEY$/)],
  ['/who me', mistake(/^Usage: \/who$/)],
  ['/histroy', mistake(/^There is no command \/histroy; did you mean \/history\?$/)],
  ['/', mistake(/^There is no command \/; \/help lists the commands\.$/)],
  ['/zzzzzz', mistake(/\/help lists the commands\.$/)],
])('%j is %j', (line, input) => {
  expect(parseInput(line)).toEqual(input)
})

describe('Tab', () => {
  const given = { names: ['bob', 'Bea', 'ada'], keys: ['boat', 'garden'] }
  it.each<[string, string[], string]>([
    ['/w', ['/whisper ', '/who '], '/w'],
    ['/se', ['/sessions '], '/se'],
    ['Ask @b', ['@Bea ', '@bob '], '@b'],
    ['@', ['@Bea ', '@ada ', '@bob '], '@'],
    ['@z', [], '@z'],
    ['plain b', [], 'b'],
    ['/load b', ['boat'], 'b'],
    ['/load ', ['boat', 'garden'], ''],
    ['/as a', ['ada'], 'a'],
    ['/w bob,b', ['bob,Bea', 'bob,bob'], 'bob,b'],
    ['/w bob b', [], 'b'],
    ['text /se', [], '/se'],
  ])('completes %j to %j', (line, hits, word) => {
    expect(complete(line, given)).toEqual([hits, word])
  })
})

it.each<[string, Decision]>([
  ['y', { kind: 'approve' }],
  [' YES ', { kind: 'approve' }],
  ['n', { kind: 'deny', reason: null }],
  ['no too expensive', { kind: 'deny', reason: 'too expensive' }],
  ['edit', { kind: 'edit' }],
  ['e {"amount":3}', { kind: 'approve', arguments: { amount: 3 } }],
  ['edit {', { kind: 'mistake', message: expect.stringContaining('not JSON') as string }],
  ['', { kind: 'mistake', message: expect.stringContaining('y, n') as string }],
  ['hello', { kind: 'mistake', message: expect.stringContaining('y, n') as string }],
])('the answer %j about a tool call is %j', (line, decision) => {
  expect(parseDecision(line)).toEqual(decision)
})
