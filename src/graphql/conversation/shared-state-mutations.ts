// The mutations that change and delete shared state, and their inputs.

import {
  MAX_KEYS,
  MAX_OPERATIONS,
  PATCH_BYTES,
  TOTAL_BYTES,
  VALUE_BYTES,
} from '../../domain/conversation/shared-state/shared-state.ts'
import type { UpdateSharedStateInput as Update } from '../../domain/conversation/shared-state/state-input.ts'
import { updateSharedState, type ChangedState } from '../../domain/conversation/shared-state/update-shared-state.ts'
import { JSON_BYTES, JSON_DEPTH, MAX_AUDIENCE } from '../../domain/kernel/input.ts'
import { deleteSharedState, type DeletedState } from '../../domain/conversation/shared-state/delete-shared-state.ts'
import { Conflict, InvalidInput, LimitReached, NotAllowed, NotFound } from '../../errors.ts'
import { builder } from '../kernel/builder.ts'
import { orErrors, payload } from '../kernel/errors.ts'
import { asField, asNewField } from '../kernel/view/named.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'

const KIB = 1024

const JsonPatchOperationInput = builder.inputType('JsonPatchOperationInput', {
  description: 'An operation of a JSON Patch (RFC 6902).',
  fields: (t) => ({
    op: t.string({ required: true, description: 'One of `add`, `remove`, `replace`, `move`, `copy` and `test`.' }),
    path: t.string({
      required: true,
      description:
        'JSON Pointer (RFC 6901) to the value to change, such as `/items/0/title`; `/items/-` is the end of a list, and the '
        + 'empty string the whole value.',
    }),
    from: t.string({ description: 'JSON Pointer to the value that `move` and `copy` read, and require.' }),
    value: t.field({ type: 'JSON', description: 'Value that `add`, `replace` and `test` require; it may be null.' }),
  }),
})

const UpdateSharedStateInput = builder.inputType('UpdateSharedStateInput', {
  description:
    'A key, and its new value by one of `patch`, `merge` and `value`. A key that does not exist is created; `patch` and '
    + `\`merge\` then start with \`{}\`. All values of a conversation have at most ${TOTAL_BYTES / KIB} KiB of JSON together.`,
  fields: (t) => ({
    ...conversationRef(t, 'whose state to change'),
    key: t.string({ required: true, description: 'Key of the state, 1 to 200 characters.' }),
    patch: t.field({
      type: [JsonPatchOperationInput],
      description:
        `Operations to apply to the current value, all or none: 1 to ${MAX_OPERATIONS.toLocaleString('en-US')}, of at most `
        + `${PATCH_BYTES / KIB} KiB. A failed \`test\` is a Conflict.`,
    }),
    merge: t.field({
      type: 'JSON',
      description:
        'Changes to the current value as a JSON Merge Patch (RFC 7396): an object. Null removes a key, an object is merged, '
        + 'any other value replaces the old one.',
    }),
    value: t.field({
      type: 'JSON',
      description:
        `New value: any JSON of at most ${VALUE_BYTES / KIB} KiB, nested at most ${JSON_DEPTH} levels deep. Null counts as `
        + 'absent: to store null, replace the root by `patch`.',
    }),
    expectedVersion: t.int({
      description:
        'Expected `version` of the state; 0 if the key must not exist, also if it was deleted. If another change was faster, the call fails with '
        + 'Conflict. Defaults to null, which applies the change to the current value.',
    }),
    schema: t.field({
      type: 'JSON',
      description:
        `JSON Schema (2020-12) that this value and all later ones must match; at most ${JSON_BYTES / KIB} KiB. Only an `
        + 'administrator may change the schema of an existing key. Null keeps the schema; a new key then has none.',
    }),
    audience: t.stringList({
      description:
        `Participants who may see a new key, 1 to ${MAX_AUDIENCE.toLocaleString('en-US')}; each must be present. The viewer `
        + 'is added. A later call must give the same audience, or none. Defaults to null, for every viewer of the '
        + 'conversation.',
    }),
    clientId: t.string({
      description:
        'Idempotency key, unique for the actor in the conversation, 1 to 200 characters. A repeated call with the same '
        + 'content changes nothing. Defaults to null, for no key.',
    }),
    ...asNewField(t, 'Actor that changes the state. An actor who is not a participant joins an OPEN conversation.'),
  }),
})

const UpdateSharedStatePayload = payload<ChangedState>('UpdateSharedState').implement({
  description: 'Result of updateSharedState.',
  fields: (t) => ({
    state: t.expose('state', {
      type: 'SharedState',
      nullable: true,
      description:
        'State after the change; for a repeated call, its present state. Null if a repeated call finds that the key was '
        + 'deleted, or that the viewer has left.',
    }),
    version: t.exposeInt('version', { description: 'Version that the call, or the call that it repeats, made.' }),
    seq: t.exposeInt('seq', { description: 'Journal sequence number of the change.' }),
    deduplicated: t.exposeBoolean('deduplicated', {
      description: 'Whether an earlier call with the same `clientId` made the change.',
    }),
  }),
})

builder.mutationField('updateSharedState', (t) =>
  t.field({
    type: UpdateSharedStatePayload,
    description:
      `Creates or changes the shared state at a key, of which a conversation has at most ${MAX_KEYS}. Concurrent changes are `
      + 'applied one after another. Subscribers in the audience receive SharedStateChanged.',
    introducesActor: true,
    errors: orErrors('UpdateSharedState', [InvalidInput, NotFound, NotAllowed, Conflict, LimitReached]),
    args: { input: t.arg({ type: UpdateSharedStateInput, required: true, description: 'Key and change.' }) },
    resolve: async (_, { input }, context) =>
      updateSharedState(context.deps, context.viewer, (await atConversation(context, input)) as Update),
  }),
)

const DeleteSharedStateInput = builder.inputType('DeleteSharedStateInput', {
  description: 'Key to delete, and the actor that deletes it.',
  fields: (t) => ({
    ...conversationRef(t, 'whose state to delete'),
    key: t.string({ required: true, description: 'Key of the state.' }),
    expectedVersion: t.int({
      description: 'Expected `version` of the state. Another version is a Conflict. Defaults to null, for no check.',
    }),
    ...asField(
      t,
      'Actor that deletes the state: the one that created it and is present, the owner, or an administrator.',
    ),
  }),
})

const DeleteSharedStatePayload = payload<DeletedState>('DeleteSharedState').implement({
  description: 'Result of deleteSharedState.',
  fields: (t) => ({
    deletedKey: t.exposeString('key', { description: 'Key of the state that no longer exists.' }),
    seq: t.exposeInt('seq', { description: 'Journal sequence number of the deletion.' }),
  }),
})

builder.mutationField('deleteSharedState', (t) =>
  t.field({
    type: DeleteSharedStatePayload,
    description:
      'Deletes the shared state at a key, with the patches of its changes. The owner and administrators may also delete keys '
      + 'that they do not see. Subscribers in the audience receive SharedStateChanged with `deleted`.',
    errors: orErrors('DeleteSharedState', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: DeleteSharedStateInput, required: true, description: 'Key to delete.' }) },
    resolve: async (_, { input }, context) =>
      deleteSharedState(context.deps, context.viewer, await atConversation(context, input)),
  }),
)
