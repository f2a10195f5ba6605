// The mutations that create and update conversations.

import {
  MAX_FIRST_PARTICIPANTS,
  createConversation,
  updateConversation,
  type Conversation,
  type CreatedConversation,
} from '../../domain/conversation/conversation.ts'
import { AGENT_TURNS } from '../../domain/agent/definition/agent-settings.ts'
import { NO_PAGE } from '../../domain/kernel/page.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asField, asNewField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { ConversationEdge, ConversationVisibilityEnum } from './conversation.ts'
import { METADATA, METADATA_PATCH, REPLACED_METADATA } from '../kernel/metadata.ts'
import { ParticipantInput } from './participant.ts'
import { orErrors, payload } from '../kernel/errors.ts'
import { MAX_TTL_SECONDS } from '../../domain/conversation/retention-policy.ts'
import { RetentionEnum } from '../trust/retention.ts'
import { CompactionPolicyInput } from '../memory/summary.ts'

const CreateConversationInput = builder.inputType('CreateConversationInput', {
  description: 'Input of createConversation. Every field is optional.',
  fields: (t) => ({
    key: t.string({
      description:
        'Idempotency key, 1 to 200 characters. If the viewer sees a conversation with this key, that conversation '
        + 'is returned unchanged. MEMBERS conversations outside the view never conflict with the key. Defaults to '
        + 'null, for no key.',
    }),
    owner: t.string({
      description: 'User or agent that owns the conversation, 1 to 200 characters. Defaults to the viewer.',
    }),
    agentName: t.string({ description: 'Name of the agent that handles the conversation, 1 to 200 characters.' }),
    title: t.string({
      description:
        'Title for lists; at most 1,000 characters. Defaults to null, for an automatic title; see `automaticTitle`.',
    }),
    automaticTitle: t.boolean({
      description:
        'Whether the server makes a title from the first turns while no title is given, if its setting '
        + 'AUTOMATIC_TITLES is on. Defaults to true.',
    }),
    systemPrompt: t.string({
      description: 'Instructions at the start of every context of the conversation; at most 65,536 characters.',
    }),
    metadata: t.field({ type: 'JSON', description: `${METADATA} Defaults to an empty object.` }),
    retention: t.field({
      type: RetentionEnum,
      description:
        'Retention of the content of turns once summaries cover them. Defaults to `CallDefaults.retention` of the tenant, '
        + 'which defaults to FULL.',
    }),
    ttlSeconds: t.int({
      description: `Seconds after its creation at which the conversation is deleted; 1 to ${MAX_TTL_SECONDS}. Exclusive with \`expiresAt\`. Defaults to \`CallDefaults.ttlSeconds\` of the tenant, which defaults to never.`,
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description:
        'Time after which the conversation is deleted. Null for never. Defaults to `ttlSeconds` after its creation.',
    }),
    factExtraction: t.boolean({
      description: 'Whether facts are extracted from the turns automatically. Defaults to false.',
    }),
    maxAgentTurns: t.int({
      description:
        'Maximum number of consecutive turns by agents, without a turn by a person, that wake up participants. '
        + `Defaults to ${AGENT_TURNS.default}; at least ${AGENT_TURNS.min}, for which only people wake up `
        + `participants, and at most ${AGENT_TURNS.max}.`,
    }),
    compaction: t.field({
      type: CompactionPolicyInput,
      description: 'Compaction policy: triggers, strategy and summarizer model. Omitted fields have their defaults.',
    }),
    visibility: t.field({
      type: ConversationVisibilityEnum,
      description:
        'Actors that may see the conversation. Defaults to the server setting CONVERSATION_VISIBILITY, which '
        + 'defaults to OPEN without authentication and to MEMBERS with it. The viewer becomes a participant of a MEMBERS '
        + 'conversation, with the kind of its credential '
        + 'or otherwise as HUMAN, unless listed in `participants`.',
    }),
    participants: t.field({
      type: [ParticipantInput],
      description:
        `First participants, at most ${MAX_FIRST_PARTICIPANTS.toLocaleString('en-US')}; each actor only once. The owner is `
        + 'not added automatically; the viewer is added to a MEMBERS conversation. Defaults to an empty list.',
    }),
    ...asNewField(t, 'Actor that creates the conversation, and owns it by default.'),
  }),
})

const CreateConversationPayload = payload<CreatedConversation>('CreateConversation').implement({
  description: 'The new conversation, or the existing conversation with the key.',
  fields: (t) => ({
    conversation: t.expose('conversation', {
      type: 'Conversation',
      description: 'The created or existing conversation.',
    }),
    conversationEdge: t.field({
      type: ConversationEdge,
      description: 'Edge of the conversation in `conversations`, in the order CREATED_AT.',
      sharing: 'SHAREABLE',
      resolve: ({ conversation }) => ({ node: conversation, page: { ...NO_PAGE, order: 'CREATED_AT' as const } }),
    }),
    created: t.exposeBoolean('created', {
      description: 'Whether the call created the conversation. False if a conversation with the key already existed.',
    }),
  }),
})

builder.mutationField('createConversation', (t) =>
  t.field({
    type: CreateConversationPayload,
    description:
      'Creates a conversation. If the viewer sees a conversation with the given key, returns that one instead.',
    introducesActor: true,
    errors: orErrors('CreateConversation', [InvalidInput, Conflict, NotAllowed]),
    args: {
      input: t.arg({
        type: CreateConversationInput,
        required: true,
        description: 'Settings and participants of the conversation.',
      }),
    },
    resolve: (_, { input }, { deps, viewer }) => createConversation(deps, viewer, input),
  }),
)

const UpdateConversationInput = builder.inputType('UpdateConversationInput', {
  description: 'Input of updateConversation. Omit a field to keep its value; null clears it or restores its default.',
  fields: (t) => ({
    ...conversationRef(t, 'to update'),
    expectedVersion: t.int({
      description:
        'Expected `version` of the conversation. If another update has changed it, the call fails with Conflict. '
        + 'Defaults to null, for no check.',
    }),
    owner: t.string({
      description: 'New user or agent that owns the conversation, 1 to 200 characters. Must not be null.',
    }),
    agentName: t.string({
      description: 'New name of the agent that handles the conversation, 1 to 200 characters. Null clears it.',
    }),
    metadataPatch: t.field({ type: 'JSON', description: METADATA_PATCH }),
    title: t.string({
      description:
        'New title for lists; at most 1,000 characters. Null clears it; then an automatic title may follow, unless '
        + '`automaticTitle` is false.',
    }),
    automaticTitle: t.boolean({
      description:
        'Whether the server makes a title from the first turns while no title is given. False keeps the current title. '
        + 'Null restores the default, true.',
    }),
    systemPrompt: t.string({
      description: 'New instructions at the start of later contexts; at most 65,536 characters.',
    }),
    metadata: t.field({ type: 'JSON', description: REPLACED_METADATA }),
    retention: t.field({
      type: RetentionEnum,
      description:
        'Retention of the content of turns once summaries cover them. Null restores FULL. Removed content is not '
        + 'restored.',
    }),
    ttlSeconds: t.int({
      description: `Seconds after its creation at which the conversation is deleted; 1 to ${MAX_TTL_SECONDS}. Exclusive with \`expiresAt\`. Null for never. Omit to keep the expiry.`,
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'Time after which the conversation is deleted. Null for never. Omit to keep the expiry.',
    }),
    factExtraction: t.boolean({
      description: 'Whether facts are extracted from the turns automatically. Null restores the default, false.',
    }),
    maxAgentTurns: t.int({
      description:
        'Maximum number of consecutive turns by agents, without a turn by a person, that wake up participants; '
        + `${AGENT_TURNS.min} to ${AGENT_TURNS.max}. Null restores the default, ${AGENT_TURNS.default}.`,
    }),
    compaction: t.field({
      type: CompactionPolicyInput,
      description: 'Compaction policy. Omitted fields keep their values. Null restores all defaults.',
    }),
    visibility: t.field({
      type: ConversationVisibilityEnum,
      description:
        'Actors that may see the conversation. Null restores the default of createConversation. Only a present '
        + 'participant may change it. The server ends subscriptions of viewers that no longer see it.',
    }),
    ...asField(t, 'Actor that updates the conversation.'),
  }),
})

const UpdateConversationPayload = payload<{ conversation: Conversation }>('UpdateConversation').implement({
  description: 'Result of updateConversation.',
  fields: (t) => ({
    conversation: t.expose('conversation', { type: 'Conversation', description: 'State after the update.' }),
  }),
})

builder.mutationField('updateConversation', (t) =>
  t.field({
    type: UpdateConversationPayload,
    description: 'Updates a conversation. Its subscribers receive ConversationUpdated.',
    errors: orErrors('UpdateConversation', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: {
      input: t.arg({ type: UpdateConversationInput, required: true, description: 'Conversation and new values.' }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return { conversation: await updateConversation(context.deps, context.viewer, given) }
    },
  }),
)
