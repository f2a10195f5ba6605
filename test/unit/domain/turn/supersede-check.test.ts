// Allowed and rejected edits and their errors, as a table over the superseded version and the request.

import { describe, expect, it } from 'vitest'
import { refusalOf, type OlderVersion, type RequestedEdit } from '../../../../src/domain/turn/supersede-check.ts'
import { Conflict, NotAllowed, NotFound } from '../../../../src/errors.ts'

const older: OlderVersion = {
  id: 'turn_1',
  actor: 'ann',
  status: 'COMMITTED',
  audience: null,
  supersededBy: null,
  removedAt: null,
}
const edit: RequestedEdit = { actor: 'ann', isPresent: true }
const PRIVATE = ['ann', 'bob']

describe('allows an edit', () => {
  it.each<[string, Partial<OlderVersion>, Partial<RequestedEdit>]>([
    ['of a committed turn', {}, {}],
    ['of an aborted turn', { status: 'ABORTED' }, {}],
    ['of a private turn', { audience: PRIVATE }, {}],
  ])('%s', (_, turn, request) => {
    expect(refusalOf({ ...older, ...turn }, { ...edit, ...request })).toBeNull()
  })
})

describe('rejects an edit', () => {
  it.each<[string, Partial<OlderVersion>, Partial<RequestedEdit>, new (...given: never[]) => Error, string]>([
    ['by an actor outside the audience', { audience: PRIVATE }, { actor: 'eve' }, NotFound, 'no turn "turn_1"'],
    ['by another actor', {}, { actor: 'bob' }, NotAllowed, 'written by "ann"'],
    ['by an author who has left', {}, { isPresent: false }, NotAllowed, '"ann" has left'],
    ['of an open turn', { status: 'STREAMING' }, {}, Conflict, 'still open'],
    ['of an erased turn', { status: 'ERASED' }, {}, Conflict, 'was erased'],
    ['of an older version', { supersededBy: 'turn_2' }, {}, Conflict, 'superseded by turn_2'],
  ])('%s', (_, turn, request, type, message) => {
    const refusal = refusalOf({ ...older, ...turn }, { ...edit, ...request })
    expect(refusal).toBeInstanceOf(type)
    expect(refusal!.message).toContain(message)
  })

  it('with NotFound before any other error, if the actor cannot see the turn', () => {
    const turn = { ...older, audience: PRIVATE, status: 'ERASED', supersededBy: 'turn_2' } as const
    expect(refusalOf(turn, { actor: 'eve', isPresent: false })).toBeInstanceOf(NotFound)
  })
})
