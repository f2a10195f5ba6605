// The words for events: every type has some, and a gist names who and what.

import { expect, it } from 'vitest'
import { possibleTypes, type FollowedEvent } from '../../../../src/client/index.ts'
import { categoryOf, gistOf, wordsOf } from '../../../../src/web/journal/events.ts'

it.each(possibleTypes.ConversationEvent!)('%s has words', (type) => expect(wordsOf(type)).not.toBe(type))

it('shows the name of an unknown type', () => {
  expect(wordsOf('TurnTranslated')).toBe('TurnTranslated')
  expect(categoryOf('TurnTranslated')).toBe('conversation')
  expect(gistOf({ __typename: 'TurnTranslated' } as unknown as FollowedEvent, String)).toBe('')
})

const turn = (fields: object = {}) => ({
  position: 7,
  actor: 'ada',
  text: 'Hello',
  parts: [],
  audience: null,
  status: 'COMMITTED',
  pinned: true,
  abortReason: null,
  ...fields,
})
const part = (__typename: string, fields: object) => turn({ text: '', parts: [{ __typename, ...fields }] })

it.each([
  [{ __typename: 'TurnAppended', turn: turn() }, 'Ada: “Hello”'],
  [{ __typename: 'TurnAppended', turn: turn({ audience: ['ada', 'bob'] }) }, 'Ada (private, 2 actors): “Hello”'],
  [{ __typename: 'TurnAppended', turn: turn({ text: 'long '.repeat(50) }) }, /^Ada: “(long ){15}long…”$/],
  [{ __typename: 'TurnOpened', turn: turn({ text: '', status: 'STREAMING' }) }, 'Ada: no text yet'],
  [{ __typename: 'TurnCommitted', turn: part('ToolCallPart', { name: 'book' }) }, 'Ada: calls book'],
  [{ __typename: 'TurnCommitted', turn: part('ToolResultPart', { name: null }) }, 'Ada: result of a tool'],
  [{ __typename: 'TurnCommitted', turn: part('FilePart', { fileName: null, mediaType: 'image/png' }) }, /image\/png/],
  [{ __typename: 'TurnAppended', turn: turn({ text: '', status: 'ERASED' }) }, 'Ada: content erased since'],
  [{ __typename: 'TurnAborted', turn: turn({ abortReason: 'stopped' }) }, 'Ada: stopped'],
  [{ __typename: 'TurnSuperseded', turn: turn(), by: turn({ text: 'Hi' }) }, 'Ada edited turn 7: “Hi”'],
  [
    { __typename: 'TurnSuperseded', turn: turn(), by: turn({ text: '', status: 'STREAMING' }) },
    'Ada regenerates turn 7',
  ],
  [{ __typename: 'TurnUpdated', turn: turn({ pinned: false }) }, 'Turn 7 by Ada is not pinned'],
  [
    { __typename: 'RunChanged', run: { actor: 'ada', provider: 'echo', state: 'WAITING_FOR_TOOL' } },
    /waiting for tool/,
  ],
  [
    { __typename: 'ApprovalResolved', approval: { toolName: 'book', state: 'DENIED', decidedBy: 'ada' } },
    'book denied by Ada',
  ],
  [
    { __typename: 'ApprovalResolved', approval: { toolName: 'book', state: 'EXPIRED', decidedBy: null } },
    'book expired',
  ],
  [{ __typename: 'PresenceChanged', participant: { actor: 'ada' }, state: 'TYPING' }, 'Ada is typing'],
  [{ __typename: 'ParticipantRead', participant: { actor: 'ada', lastReadSeq: 12 } }, 'Ada read up to entry 12'],
  [{ __typename: 'ConversationUpdated', conversation: { version: 2, title: null } }, 'Version 2'],
  [{ __typename: 'WakeUpsStopped', turn: { position: 3 }, limit: 1 }, 'After turn 3: 1 turn by agents in a row'],
])('the gist of %o', (event, gist) => {
  const names: Record<string, string> = { ada: 'Ada' }
  const shown = gistOf(event as unknown as FollowedEvent, (actor) => names[actor] ?? actor)
  if (typeof gist === 'string') expect(shown).toBe(gist)
  else expect(shown).toMatch(gist)
})
