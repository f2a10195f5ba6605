// Fact extraction, reconciliation and profiles through the API, on real databases, with the errors of each.

import { describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { useClients } from '../client.ts'

const ERRORS = '... on UserError { code message } ... on InvalidInput { issues { path message } }'
const EXTRACT = `mutation ($input: ExtractFactsInput!) { extractFacts(input: $input) {
  __typename ... on ExtractFactsPayload { facts { subject predicate object userId sourceTurn { id } }
  exactDuplicatesSkipped }
  ${ERRORS}
} }`
const RECONCILE = `mutation ($input: ReconcileFactsInput!) { reconcileFacts(input: $input) {
  __typename ... on ReconcileFactsPayload { kept merged contradicted } ${ERRORS}
} }`
const REFRESH = `mutation ($input: RefreshUserProfileInput!) { refreshUserProfile(input: $input) {
  __typename ... on RefreshUserProfilePayload { userProfile { userId content tokenCount updatedAt } } ${ERRORS}
} }`
const PROFILE = 'query ($user: String!) { userProfile(userId: $user) { userId content tokenCount updatedAt } }'
const UNKNOWN = 'conv_01M7Y6WYY3H46N4VAVA0X8EY1Q'

describe.each(backends)('extraction and profiles, on $name', (backend) => {
  const clients = useClients(backend)
  const { append } = clients
  const [ada, bob] = [clients.as('ada'), clients.as('bob')]

  it('create facts from turns, and a profile from facts', async () => {
    const conversationId = await clients.newConversation(['ada', 'bob'])
    await append(conversationId, 'I live in Rome.', { createdAt: '2026-01-01T00:00:00Z' })
    const oslo = await append(conversationId, 'I live in Oslo now. Do I like it?', {
      createdAt: '2026-02-01T00:00:00Z',
    })
    const { extractFacts } = await ada(EXTRACT, { input: { conversationId } })
    expect(extractFacts).toMatchObject({
      __typename: 'ExtractFactsPayload',
      exactDuplicatesSkipped: 0,
      facts: [
        { object: 'Rome' },
        { predicate: 'lives in', object: 'Oslo', userId: 'ada', sourceTurn: { id: oslo.id } },
      ],
    })
    expect((await ada(RECONCILE, { input: { userId: 'ada' } })).reconcileFacts).toEqual({
      __typename: 'ReconcileFactsPayload',
      kept: 1,
      merged: 0,
      contradicted: 1,
    })
    expect(await bob(PROFILE, { user: 'ada' })).toEqual({ userProfile: null })
    const { refreshUserProfile } = await bob(REFRESH, { input: { userId: 'ada' } })
    const profile = refreshUserProfile.userProfile
    expect(profile).toEqual({
      userId: 'ada',
      content: '## Environment\n- lives in Oslo',
      tokenCount: expect.any(Number),
      updatedAt: expect.any(String),
    })
    expect(await bob(PROFILE, { user: 'ada' })).toEqual({ userProfile: profile })
    const { userProfile } = await bob('{ userProfile(userId: "ada") { id } }')
    expect(
      await bob('query ($id: ID!) { node(id: $id) { __typename id ... on UserProfile { content } } }', userProfile),
    ).toEqual({ node: { __typename: 'UserProfile', id: userProfile.id, content: profile.content } })
  })

  it.each([
    ['extractFacts', EXTRACT, { conversationId: UNKNOWN }, { code: 'NOT_FOUND' }],
    [
      'extractFacts',
      EXTRACT,
      { conversationId: 'x' },
      { code: 'INVALID_INPUT', issues: [{ path: ['conversationId'] }] },
    ],
    ['reconcileFacts', RECONCILE, {}, { code: 'INVALID_INPUT', issues: [{ path: ['userId'] }] }],
    [
      'reconcileFacts',
      RECONCILE,
      { userId: 'ada', n: 501 },
      { issues: [{ path: ['n'], message: 'must be 1 to 500' }] },
    ],
    ['reconcileFacts', RECONCILE, { conversationId: UNKNOWN }, { code: 'NOT_FOUND' }],
    ['refreshUserProfile', REFRESH, { userId: 'unknown' }, { code: 'NOT_FOUND' }],
    ['refreshUserProfile', REFRESH, { userId: '' }, { code: 'INVALID_INPUT', issues: [{ path: ['userId'] }] }],
    ['refreshUserProfile', REFRESH, { userId: 'a', recentK: 1001 }, { issues: [{ message: 'must be 1 to 1,000' }] }],
  ])('return errors as members of the result union: %s, case %#', async (verb, document, input, answer) => {
    expect((await ada(document, { input }))[verb]).toMatchObject(answer)
  })

  it('return an empty profile for a user without facts', async () => {
    const { refreshUserProfile } = await ada(REFRESH, { input: { userId: 'bob' } })
    expect(refreshUserProfile.userProfile).toMatchObject({ content: '', tokenCount: 0 })
  })
})
