// API keys: the list, and the mutations that create, rotate and revoke a key. The server returns a token only once: in
// the result of the mutation that creates or rotates the key.

import {
  apiKeyCursor,
  createApiKey,
  getApiKeys,
  MAX_KEY_CONVERSATIONS,
  MAX_OVERLAP_SECONDS,
  revokeApiKey,
  rotateApiKey,
  type ApiKey,
  type IssuedApiKey,
} from '../../domain/trust/api-key/api-key.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import type { Right } from '../../domain/kernel/rights/principal.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { Node } from '../kernel/node.ts'
import { ParticipantKindEnum } from '../conversation/participant.ts'
import { orErrors, payload } from '../kernel/errors.ts'
import { RightEnum } from '../kernel/rights/rights.ts'

builder.objectType('ApiKey', {
  interfaces: [Node],
  description: 'An API key, which authenticates an actor and grants rights. Only a hash of its secret is stored.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'Name for administrators, unique among the keys that are not revoked.',
    }),
    actor: t.exposeString('actor', { description: 'Actor that the key authenticates.' }),
    kind: t.expose('kind', { type: ParticipantKindEnum, description: 'Kind of the actor.' }),
    rights: t.field({
      type: [RightEnum],
      description: 'Rights that the key grants; at least one.',
      sharing: 'SHAREABLE',
      resolve: ({ rights }) => rights as Right[],
    }),
    conversationIds: t.idList({
      nullable: true,
      description:
        'Ids of the only conversations that the key gives access to. Null for all conversations of the tenant.',
      sharing: 'SHAREABLE',
      resolve: ({ conversations }) => conversations,
    }),
    version: t.exposeInt('version', {
      description: 'Number of the current secret: 1 when created, one more after each rotation.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the key was created.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time from which the key is refused. Null for a key that does not expire.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the key was revoked. Null for a key that is not revoked.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last use, recorded at most once a minute. Null for a key that was never used.',
    }),
  }),
})

const { Connection: ApiKeyConnection } = connectionOf<ApiKey>('ApiKey', 'API keys', apiKeyCursor)

builder.queryField('apiKeys', (t) =>
  t.field({
    verb: 'getApiKeys',
    type: ApiKeyConnection,
    description:
      'Lists the API keys of the tenant, newest first, revoked and expired ones included. '
      + `Defaults to the first ${DEFAULT_PAGE_SIZE}.`,
    args: pagingArgs(t, 'API keys'),
    resolve: (_, args, { reading, viewer, work }) => work.read(() => getApiKeys(reading, viewer, args)),
  }),
)

const issuedFields = (verb: string) =>
  payload<IssuedApiKey>(verb).implement({
    description: `Result of ${verb[0]!.toLowerCase()}${verb.slice(1)}, with the only copy of the token.`,
    fields: (t) => ({
      apiKey: t.field({
        type: 'ApiKey',
        description: 'The key, now with this token.',
        sharing: 'SHAREABLE',
        resolve: ({ apiKey }) => apiKey,
      }),
      token: t.exposeString('token', {
        description:
          'Token that clients send as `Authorization: Bearer TOKEN`. Store it now: the server keeps only a hash of it.',
      }),
    }),
  })
const CreateApiKeyPayload = issuedFields('CreateApiKey')
const RotateApiKeyPayload = issuedFields('RotateApiKey')

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'Input of createApiKey: the actor that the key authenticates, and its rights.',
  fields: (t) => ({
    name: t.string({
      required: true,
      description: 'Name for administrators, at most 200 characters, unique among the keys that are not revoked.',
    }),
    actor: t.string({
      required: true,
      description: 'Actor that the key authenticates, at most 200 characters. Need not exist yet.',
    }),
    kind: t.field({
      type: ParticipantKindEnum,
      description:
        'Kind of the actor, at most as trusted as the kind of the credential of the call. Defaults to AGENT.',
    }),
    rights: t.field({
      type: [RightEnum],
      required: true,
      description: 'Rights that the key grants: at least one, and only rights of the credential that creates the key.',
    }),
    conversationIds: t.idList({
      description:
        'Ids of the only conversations that the key gives access to, at most '
        + `${MAX_KEY_CONVERSATIONS}. Null or omitted for all conversations of the tenant.`,
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description:
        'Time from which the key is refused. Null or omitted for a key that does not expire. Required, and at most the '
        + '`expiresAt` of the credential of the call, if that credential expires.',
    }),
    ...asField(t, 'Actor that creates the key.'),
  }),
})

builder.mutationField('createApiKey', (t) =>
  t.field({
    type: CreateApiKeyPayload,
    description:
      'Creates an API key of the tenant that permits no more than the credential of the call. Requires also every right '
      + 'that the key gets, for a key of another actor `act-as`, a kind that is trusted as much as that of the key (HUMAN '
      + 'before AGENT before TOOL), and an expiry that is not earlier than that of the key. Fails with CONFLICT if a key '
      + 'of that name is not revoked.',
    errors: orErrors('CreateApiKey', [InvalidInput, NotAllowed, Conflict]),
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The key to create.' }) },
    resolve: (_, { input: { conversationIds, kind, as: _as, ...input } }, { deps, viewer }) =>
      createApiKey(deps, viewer, { ...input, kind: kind ?? undefined, conversations: conversationIds }),
  }),
)

const RotateApiKeyInput = builder.inputType('RotateApiKeyInput', {
  description: 'Input of rotateApiKey: the key, and how long its previous secret stays valid.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Id of the key to rotate.' }),
    expectedVersion: t.int({
      required: true,
      description: 'Current `version` of the key, so that a repeated call does not rotate it again.',
    }),
    overlapSeconds: t.int({
      description:
        'Seconds for which the previous secret stays valid. Defaults to 0; at most '
        + `${MAX_OVERLAP_SECONDS.toLocaleString('en-US')} (30 days).`,
    }),
    ...asField(t, 'Actor that rotates the key.'),
  }),
})

builder.mutationField('rotateApiKey', (t) =>
  t.field({
    type: RotateApiKeyPayload,
    description:
      'Replaces the secret of an API key. Sockets and event streams with a secret that is no longer valid are closed. '
      + 'Requires what createApiKey requires for such a key. Fails with CONFLICT if the key is revoked or has another version.',
    errors: orErrors('RotateApiKey', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: RotateApiKeyInput, required: true, description: 'The key to rotate.' }) },
    resolve: (_, { input: { id, expectedVersion, overlapSeconds } }, { deps, viewer }) =>
      rotateApiKey(deps, viewer, { id, expectedVersion, overlapSeconds: overlapSeconds ?? undefined }),
  }),
)

const RevokeApiKeyPayload = payload<{ apiKey: ApiKey }>('RevokeApiKey').implement({
  description: 'Result of revokeApiKey.',
  fields: (t) => ({
    apiKey: t.field({
      type: 'ApiKey',
      description: 'The revoked key.',
      sharing: 'SHAREABLE',
      resolve: ({ apiKey }) => apiKey,
    }),
  }),
})

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'Input of revokeApiKey: the key that stops authenticating requests.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Id of the key to revoke.' }),
    ...asField(t, 'Actor that revokes the key.'),
  }),
})

builder.mutationField('revokeApiKey', (t) =>
  t.field({
    type: RevokeApiKeyPayload,
    description:
      'Revokes an API key permanently. Every process refuses it, and closes its sockets and event streams, within '
      + '5 seconds. Revoking a revoked key changes nothing. Requires the rights and the kind that createApiKey requires '
      + 'for such a key, but no later expiry.',
    errors: orErrors('RevokeApiKey', [InvalidInput, NotFound, NotAllowed]),
    args: { input: t.arg({ type: RevokeApiKeyInput, required: true, description: 'The key to revoke.' }) },
    async resolve(_, { input: { id } }, { deps, viewer }) {
      return { apiKey: await revokeApiKey(deps, viewer, { id }) }
    },
  }),
)
