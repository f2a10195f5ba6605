// The mutations that create and update conversations.

import {
  createConversation,
  updateConversation,
  type Conversation,
  type CreatedConversation,
} from '../domain/conversation.ts'
import { JSON_BYTES, JSON_DEPTH } from '../domain/input.ts'
import { NO_PAGE } from '../domain/page.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../errors.ts'
import { builder } from './builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { ConversationEdge } from './conversation.ts'
import { ConversationVisibilityEnum } from './conversation-visibility.ts'
import { ParticipantInput } from './participant.ts'
import { orErrors, payload } from './result.ts'
import { CompactionPolicyInput } from './summary.ts'

const CreateConversationInput = builder.inputType('CreateConversationInput', {
  description: 'What a conversation is made with. Everything may be left out.',
  fields: (t) => ({
    key: t.string({
      description:
        'Idempotency key, 1 to 200 characters. If the viewer sees a conversation with this key, that conversation is returned '
        + 'unchanged. MEMBERS conversations that the viewer does not see never conflict with the key.',
    }),
    owner: t.string({ description: 'Whom the conversation belongs to; the viewer when left out.' }),
    agentName: t.string({ description: 'Which agent handles the conversation.' }),
    title: t.string({ description: 'What lists show; at most 1,000 characters.' }),
    systemPrompt: t.string({
      description: 'Instructions that open every context built from the conversation; at most 65,536 characters.',
    }),
    metadata: t.field({
      type: 'JSON',
      description: `Data of your own: a JSON object of at most ${JSON_BYTES / 1024} KiB, nested at most ${JSON_DEPTH} deep.`,
    }),
    factExtraction: t.boolean({
      description: 'Whether facts are extracted from the turns automatically. Defaults to false.',
    }),
    compaction: t.field({
      type: CompactionPolicyInput,
      description: 'When and how old turns are summarised; the defaults when left out.',
    }),
    visibility: t.field({
      type: ConversationVisibilityEnum,
      description:
        'Who sees the conversation. Defaults to the server setting CONVERSATION_VISIBILITY, which is OPEN unless set. The '
        + 'viewer becomes a participant of a MEMBERS conversation, as HUMAN unless listed in `participants`.',
    }),
    participants: t.field({
      type: [ParticipantInput],
      description:
        'Participants from the start, at most 1,000, each actor once. Nobody else is added, not even the owner; the viewer '
        + 'is added to a MEMBERS conversation.',
    }),
  }),
})

const CreateConversationPayload = payload<CreatedConversation>('CreateConversation').implement({
  description: 'The new conversation, or the one that the viewer already sees under the key.',
  fields: (t) => ({
    conversation: t.expose('conversation', {
      type: 'Conversation',
      description: 'The object that was created or found.',
    }),
    conversationEdge: t.field({
      type: ConversationEdge,
      description: 'The edge of the conversation in `conversations`, in the order CREATED_AT.',
      resolve: ({ conversation }) => ({ node: conversation, page: { ...NO_PAGE, order: 'CREATED_AT' as const } }),
    }),
    created: t.exposeBoolean('created', {
      description: 'Whether the call created the conversation. False if it was found by its key.',
    }),
  }),
})

builder.mutationField('createConversation', (t) =>
  t.field({
    type: CreateConversationPayload,
    description:
      'Creates a conversation. If the viewer sees a conversation with the given key, returns that one instead.',
    errors: orErrors('CreateConversation', [InvalidInput, Conflict, NotAllowed]),
    args: {
      input: t.arg({
        type: CreateConversationInput,
        required: true,
        description: 'What the conversation is made with.',
      }),
    },
    resolve: (_, { input }, { deps, viewer }) => createConversation(deps, viewer, input),
  }),
)

const UpdateConversationInput = builder.inputType('UpdateConversationInput', {
  description: 'What changes in a conversation: null clears a field, a field that is left out stays.',
  fields: (t) => ({
    ...conversationRef(t, 'to update'),
    expectedVersion: t.int({
      description:
        "The conversation's `version` as the caller knows it. Fails with Conflict if another update has changed it. "
        + 'Omit it to update any version.',
    }),
    owner: t.string({ description: 'User or agent that the conversation belongs to from now on. Must not be null.' }),
    agentName: t.string({ description: 'Name of the agent that handles the conversation. Null removes it.' }),
    metadataPatch: t.field({
      type: 'JSON',
      description:
        'Changes to the metadata as a JSON Merge Patch (RFC 7396): null removes a key, an object is merged, any other '
        + `value replaces the old one. The result has at most ${JSON_BYTES / 1024} KiB. Exclusive with metadata.`,
    }),
    title: t.string({ description: 'What lists show from now on; at most 1,000 characters.' }),
    systemPrompt: t.string({ description: 'Opens the contexts built from now on; at most 65,536 characters.' }),
    metadata: t.field({
      type: 'JSON',
      description: `Takes the place of all the metadata there is: an object of at most ${JSON_BYTES / 1024} KiB.`,
    }),
    factExtraction: t.boolean({
      description: 'Whether facts are extracted from the turns automatically. Null restores the default, false.',
    }),
    compaction: t.field({
      type: CompactionPolicyInput,
      description: 'When and how old turns are summarised; null sets the defaults again.',
    }),
    visibility: t.field({
      type: ConversationVisibilityEnum,
      description:
        'Who sees the conversation; null sets the default of createConversation. Only a present participant changes it. '
        + 'Subscriptions of viewers who no longer see the conversation end.',
    }),
  }),
})

const UpdateConversationPayload = payload<{ conversation: Conversation }>('UpdateConversation').implement({
  description: 'Result of an update.',
  fields: (t) => ({
    conversation: t.expose('conversation', { type: 'Conversation', description: 'The object after the update.' }),
  }),
})

builder.mutationField('updateConversation', (t) =>
  t.field({
    type: UpdateConversationPayload,
    description: 'Updates a conversation. Its subscribers receive ConversationUpdated.',
    errors: orErrors('UpdateConversation', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: {
      input: t.arg({
        type: UpdateConversationInput,
        required: true,
        description: 'The conversation, and what changes in it.',
      }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return { conversation: await updateConversation(context.deps, context.viewer, given) }
    },
  }),
)
