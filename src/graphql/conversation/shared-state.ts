// The shared state of conversations: its type, the fields of a conversation that read it, and the event of its changes.

import { derivedId } from '../../domain/kernel/derived-id.ts'
import { JSON_BYTES } from '../../domain/kernel/input.ts'
import {
  KEPT_PATCHES,
  MAX_KEYS,
  stateCursor,
  VALUE_BYTES,
  type SharedState,
} from '../../domain/conversation/shared-state/shared-state.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import type { VisibleStateChange } from '../../domain/turn/journal/event.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { loadPageOfSharedStates, loadSharedState } from '../kernel/loaders.ts'
import { Node } from '../kernel/node.ts'
import { interfaces } from '../turn/journal/event-interface.ts'

builder.objectType('SharedState', {
  description:
    'The shared state of a conversation at one key: a JSON value that people and agents change together. A conversation '
    + `has at most ${MAX_KEYS} keys.`,
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Identifies the state among all objects. Derived from the conversation and the key.',
      sharing: 'SHAREABLE',
      resolve: ({ conversationId, key }) => derivedId({ kind: 'state', conversationId, key }),
    }),
    key: t.exposeString('key', { description: 'Key of the state, unique in the conversation.' }),
    value: t.expose('value', {
      type: 'JSON',
      nullable: true,
      description: `Current value: any JSON of at most ${VALUE_BYTES / 1024} KiB. Null if the value is null.`,
    }),
    version: t.exposeInt('version', {
      description:
        'Number of changes of the key, including those before it was last deleted: 1 on the first creation. Pass it as '
        + '`expectedVersion`, so that a change never overwrites a concurrent one.',
    }),
    schema: t.expose('schema', {
      type: 'JSON',
      nullable: true,
      description: `JSON Schema (2020-12) that every value must match; at most ${JSON_BYTES / 1024} KiB. Null for any value.`,
    }),
    audience: t.expose('audience', {
      type: ['String'],
      nullable: true,
      description: 'Participants who see the state. Null for every viewer of the conversation. Fixed on creation.',
    }),
    updatedBy: t.exposeString('updatedBy', { description: 'Actor that made the newest change.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'Time of the newest change.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the key was created.' }),
  }),
})

builder.objectField('Conversation', 'sharedState', (t) =>
  t.field({
    type: 'SharedState',
    nullable: true,
    description:
      'The shared state at a key. Null if there is none that the viewer sees. Not available as of the past: `asOf` returns '
      + 'the present state.',
    sharing: 'PER_VIEWER',
    args: { key: t.arg.string({ required: true, description: 'Key of the state.' }) },
    resolve: ({ id: conversationId }, { key }, context) => loadSharedState(context, { conversationId, key }),
  }),
)

const { Connection } = connectionOf<SharedState>('SharedState', 'states', stateCursor)

builder.objectField('Conversation', 'sharedStates', (t) =>
  t.field({
    type: Connection,
    description:
      'The shared state that the viewer sees, in the order of the code points of the keys. Defaults to the first '
      + `${DEFAULT_PAGE_SIZE}. Not available as of the past: \`asOf\` returns the present state.`,
    sharing: 'PER_VIEWER',
    args: { ...pagingArgs(t, 'states') },
    resolve: ({ id }, args, context) => loadPageOfSharedStates(context, id, args),
  }),
)

builder.objectRef<VisibleStateChange>('SharedStateChanged').implement({
  description:
    'The shared state of a key was created, changed or deleted. Delivered only to the participants in the audience of the '
    + 'key.',
  interfaces,
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Key of the state.' }),
    version: t.exposeInt('version', {
      description: 'Version that the change made. Versions continue after a deletion, which makes one, too.',
    }),
    deleted: t.exposeBoolean('deleted', { description: 'Whether the change deleted the key.' }),
    patch: t.expose('patch', {
      type: 'JSON',
      nullable: true,
      description:
        'Operations of RFC 6902 that change the value of the version before into that of this version; those of a creation '
        + `add the whole value. Null for a deletion, above ${KEPT_PATCHES.bytes / 1024} KiB, and once the key has `
        + `${KEPT_PATCHES.changes} newer changes: read \`state\` then.`,
    }),
    state: t.field({
      type: 'SharedState',
      nullable: true,
      description: 'Current state of the key, which may have changed since the event. Null once it was deleted.',
      // A key that was created again may have another audience than the event.
      sharing: 'PER_VIEWER',
      resolve: ({ conversationId, key }, _, context) => loadSharedState(context, { conversationId, key }),
    }),
    actor: t.exposeString('actor', { description: 'Actor that made the change.' }),
  }),
})
