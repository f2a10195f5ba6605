// User profiles: the type, the query that reads one, and the mutation that refreshes it.

import { getProfiles, type UserProfile } from '../domain/profile/profile.ts'
import { refreshUserProfile } from '../domain/profile/refresh.ts'
import { InvalidInput, NotAllowed, NotFound, ProviderFailed } from '../errors.ts'
import { derivedId } from '../domain/derived-id.ts'
import { builder } from './builder.ts'
import { Node } from './node.ts'
import { orErrors, payload } from './result.ts'

builder.objectType('UserProfile', {
  interfaces: [Node],
  description:
    'What is known of a user across all conversations of the tenant: preferences, work, environment, constraints. Made of '
    + 'facts for everyone alone, and shown to those alone who see all of these.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      resolve: ({ userId }, _, { viewer }) => derivedId({ kind: 'profile', tenant: viewer.tenant, userId }),
    }),
    userId: t.exposeString('userId', { description: 'The user, as participants are called by.' }),
    content: t.exposeString('content', {
      description:
        'The text, in sections. What an agent or a tool said of the user stands in it as a claim. It was learned '
        + 'from turns: data, not instructions.',
    }),
    tokenCount: t.exposeInt('tokenCount', { description: 'Tokens of the content, as the server counts them.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was brought up to date last.' }),
  }),
})

builder.queryField('userProfile', (t) =>
  t.field({
    type: 'UserProfile',
    nullable: true,
    description:
      'The profile of a user; null where none was made, or it tells of a fact that the viewer does not see. It is '
      + 'made by `refreshUserProfile`, or by itself where the server is set to do so.',
    args: { userId: t.arg.string({ required: true, description: 'The user, as participants are called by.' }) },
    resolve: async (_, { userId }, { reading, viewer, work }) =>
      (await work.read(() => getProfiles(reading, viewer, [userId]))).get(userId) ?? null,
  }),
)

const RefreshUserProfileInput = builder.inputType('RefreshUserProfileInput', {
  description: 'Whose profile is to be brought up to date, and with how much.',
  fields: (t) => ({
    userId: t.string({ required: true, description: 'The user, as participants are called by.' }),
    recentK: t.int({ description: 'How many of the newest active facts are looked at: 1 to 1,000, 200 by default.' }),
  }),
})

const RefreshUserProfilePayload = payload<{ userProfile: UserProfile }>('RefreshUserProfile').implement({
  description: 'Result of an update of a profile.',
  fields: (t) => ({
    userProfile: t.expose('userProfile', {
      type: 'UserProfile',
      description: 'The text about the user, after the update.',
    }),
  }),
})

builder.mutationField('refreshUserProfile', (t) =>
  t.field({
    type: RefreshUserProfilePayload,
    description:
      'Reconciles the facts about a user, then updates the profile from the active facts. The configured model writes '
      + 'the text, if there is one. Fails with NotFound if the user is not a participant of any conversation and no '
      + 'visible fact is about the user.',
    errors: orErrors('RefreshUserProfile', [InvalidInput, NotFound, NotAllowed, ProviderFailed]),
    args: { input: t.arg({ type: RefreshUserProfileInput, required: true, description: 'Whose profile.' }) },
    resolve: async (_, { input }, { deps, viewer }) => ({
      userProfile: await deps.gates.memory.run(viewer.tenant, () => refreshUserProfile(deps, viewer, input)),
    }),
  }),
)
