// Approvals of tool calls: their type, the query that lists them, the mutation that decides, and their events.

import { approvalCursor, getApprovalPage, type Approval } from '../../domain/agent/run/approval/approval.ts'
import { hashOfCall } from '../../domain/agent/run/tools/call-hash.ts'
import { MAX_REASON, resolveApproval, type ResolvedApproval } from '../../domain/agent/run/approval/resolve-approval.ts'
import type { VisibleApproval } from '../../domain/turn/journal/event.ts'
import { JSON_BYTES } from '../../domain/kernel/input.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import { APPROVAL_SECONDS } from '../../domain/agent/definition/tool-definition.ts'
import { partsOf } from '../../domain/turn/content.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asArg, asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { interfaces } from '../turn/journal/event-interface.ts'
import { loadConversationOf, loadPageOfApprovals, loadRun, loadTurn, loadTurnOf } from '../kernel/loaders.ts'
import { Node } from '../kernel/node.ts'
import { orErrors, payload } from '../kernel/errors.ts'

const days = (seconds: number) => `${seconds / 86_400} days`

const ApprovalStateEnum = builder.enumType('ApprovalState', {
  description:
    'State of an approval. All states but PENDING are final, except for the erasure of a user: see CANCELLED.',
  values: {
    PENDING: { description: 'No decision was made yet. The run waits.' },
    APPROVED: { description: 'The call may be executed, with the `arguments` of the approval.' },
    DENIED: { description: 'The call is not executed. Its result for the model is an error with the reason.' },
    EXPIRED: {
      description: 'No decision was made in time. The call is not executed; its result for the model is an error.',
    },
    CANCELLED: {
      description:
        'The run ended, or the turn with the call was erased, before a decision; or the actor who had edited the '
        + 'arguments was erased before the run ended.',
    },
  } satisfies Record<Approval['state'], object>,
})

builder.objectType('Approval', {
  description:
    'A tool call of a run that needs a decision before it is executed, and the decision. Visible to viewers of the turn '
    + 'with the call.',
  interfaces: [Node],
  fields: (t) => ({
    conversation: t.field({
      type: 'Conversation',
      description: 'The conversation of the run, in the same view as the approval.',
      sharing: 'SHAREABLE',
      resolve: (approval, _, context) => loadConversationOf(context, approval.conversationId),
    }),
    turn: t.field({
      type: 'Turn',
      description: 'The turn that made the call.',
      sharing: 'SHAREABLE',
      resolve: (approval, _, context) => loadTurnOf(context, approval.turnId),
    }),
    run: t.field({
      type: 'Run',
      nullable: true,
      description: 'The run that made the call. Null if it is not in view.',
      sharing: 'PER_VIEWER',
      resolve: (approval, _, context) => loadRun(context, approval.runId),
    }),
    callId: t.exposeString('callId', { description: 'Id of the call, unique within the turn.' }),
    toolName: t.exposeString('toolName', { description: 'Name of the called tool.' }),
    arguments: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The arguments with which the call is executed: those of the decision if it edited them, otherwise those of the '
        + 'model. Null if the content of the turn was erased or removed.',
      sharing: 'SHAREABLE',
      async resolve({ turnId, callId, editedArguments }, _, context) {
        if (editedArguments !== null) return editedArguments
        const turn = await loadTurn(context, turnId)
        const call = turn && partsOf(turn).find((part) => part.type === 'toolCall' && part.callId === callId)
        return call?.type === 'toolCall' ? call.arguments : null
      },
    }),
    callHash: t.string({
      nullable: true,
      description:
        'SHA-256 hash of the call that is approved, as 64 lower-case hexadecimal digits: of '
        + '`{"arguments":…,"callId":…,"toolName":…}` in the canonical form of RFC 8785, with the arguments of the model. '
        + 'The run executes the call only if it still has this hash. Null if the content of the turn was erased or '
        + 'removed.',
      sharing: 'SHAREABLE',
      resolve: async ({ turnId, callId, callHash }, _, context) =>
        callHash ?? hashOfCall(await loadTurn(context, turnId), callId),
    }),
    edited: t.boolean({
      description: 'Whether the decision replaced the arguments of the model.',
      sharing: 'SHAREABLE',
      resolve: ({ editedArguments }) => editedArguments !== null,
    }),
    state: t.expose('state', { type: ApprovalStateEnum, description: 'Current state of the approval.' }),
    decidedBy: t.exposeString('decidedBy', {
      nullable: true,
      description: 'Name of the actor who approved or denied the call. Null without a decision.',
    }),
    decidedAt: t.expose('decidedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the decision, or at which the approval expired or was cancelled. Null while it is pending.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Reason of the decision. Null if none was given.',
    }),
    requestedAt: t.expose('requestedAt', { type: 'DateTime', description: 'Time at which the run made the call.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description:
        `Time at which a pending approval expires: ${days(APPROVAL_SECONDS.default)} after the call, unless the tool sets `
        + 'another limit.',
    }),
  }),
})

const { Connection: ApprovalConnection } = connectionOf<Approval>('Approval', 'approvals', approvalCursor)

builder.objectField('Run', 'approvals', (t) =>
  t.field({
    type: ApprovalConnection,
    description:
      'The approvals of the tool calls of the run that the viewer sees, in the order of the calls. Defaults to the first '
      + `${DEFAULT_PAGE_SIZE}.`,
    sharing: 'PER_VIEWER',
    args: pagingArgs(t, 'approvals'),
    resolve: (run, args, context) => loadPageOfApprovals(context, run.id, args),
  }),
)

builder.queryField('approvals', (t) =>
  t.field({
    verb: 'getApprovals',
    type: ApprovalConnection,
    description:
      'Lists the approvals of all conversations that the viewer sees, in the order of `requestedAt`, newest first. '
      + `Defaults to the first ${DEFAULT_PAGE_SIZE}.`,
    args: {
      state: t.arg({ type: ApprovalStateEnum, description: 'State of the approvals to list. Null for all approvals.' }),
      conversationId: t.arg.id({ description: 'Id of the only conversation to list. Null for all conversations.' }),
      ...pagingArgs(t, 'approvals'),
      ...asArg(t),
    },
    resolve: (_, args, { reading, viewer, work }) => work.read(() => getApprovalPage(reading, viewer, args)),
  }),
)

const ApprovalDecision = builder.enumType('ApprovalDecision', {
  description: 'Decision about a tool call.',
  values: {
    APPROVE: { description: 'The call is executed.' },
    DENY: { description: 'The call is not executed; its result for the model is an error.' },
  } as const,
})

const ResolveApprovalInput = builder.inputType('ResolveApprovalInput', {
  description: 'A decision about a tool call.',
  fields: (t) => ({
    approvalId: t.id({ required: true, description: 'Id of the approval to decide, which must be PENDING.' }),
    decision: t.field({ type: ApprovalDecision, required: true, description: 'Whether the call is executed.' }),
    arguments: t.field({
      type: 'JSON',
      description:
        `Arguments to execute the call with: an object of at most ${JSON_BYTES} bytes of JSON that matches the schema of `
        + 'the tool. Only for APPROVE. Null for the arguments of the model.',
    }),
    reason: t.string({
      description: `Reason of the decision; at most ${MAX_REASON} characters. The model gets the reason of a denial.`,
    }),
    expectedCallHash: t.string({
      description:
        'The `callHash` that the approval must have. With another one, the call fails with Conflict and decides nothing. '
        + 'Null for any.',
    }),
    ...asField(t, 'Actor that decides.'),
  }),
})

const ResolveApprovalPayload = payload<ResolvedApproval>('ResolveApproval').implement({
  description: 'Result of resolveApproval.',
  fields: (t) => ({
    approval: t.expose('approval', { type: 'Approval', description: 'The approval with the decision.' }),
    changed: t.exposeBoolean('changed', {
      description: 'Whether this call made the decision. False if the same actor had already made the same decision.',
    }),
  }),
})

builder.mutationField('resolveApproval', (t) =>
  t.field({
    type: ResolveApprovalPayload,
    description:
      'Approves or denies a tool call of a run. A decision is final. After the last decision about the calls of a reply, '
      + 'the run continues in the background. The agent that made the call cannot decide. Without authentication, any '
      + 'other actor that sees the call may decide. Subscribers receive ApprovalResolved.',
    errors: orErrors('ResolveApproval', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: ResolveApprovalInput, required: true, description: 'The decision.' }) },
    resolve: (_, { input }, { deps, viewer }) => resolveApproval(deps, viewer, input),
  }),
)

const EVENTS: Record<VisibleApproval['type'], [description: string, approval: string]> = {
  ApprovalRequested: [
    'A tool call of a run waits for a decision. The owner and the administrators of the conversation may decide.',
    'The approval, which may have been decided since.',
  ],
  ApprovalResolved: [
    'A tool call was approved or denied, or its approval expired or was cancelled.',
    'The approval with the decision.',
  ],
}

for (const [name, [description, approval]] of Object.entries(EVENTS)) {
  builder
    .objectRef<VisibleApproval>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({ approval: t.expose('approval', { type: 'Approval', description: approval }) }),
    })
}
