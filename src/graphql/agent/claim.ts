// Claims: the right to answer a turn, the mutations that claim, renew and release, and the events of claims.

import { CLAIM_TTL, claimTurn, releaseClaim, renewClaim, type Claim } from '../../domain/agent/claim/claim.ts'
import type { ClaimEvent } from '../../domain/turn/journal/event.ts'
import { WRITER_TOKEN } from '../../domain/turn/append/turn-input.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { builder, type InputFieldBuilder } from '../kernel/builder.ts'
import { interfaces } from '../turn/journal/event-interface.ts'
import { loadParticipant, loadTurnOf } from '../kernel/loaders.ts'
import { orErrors, payload } from '../kernel/errors.ts'

const ClaimScopeEnum = builder.enumType('ClaimScope', {
  description: 'Determines which other claims on the same turn a claim excludes.',
  values: {
    AGENT: {
      description:
        'Excludes other claims of the same participant, and claims of scope TURN: one process of the participant '
        + 'answers.',
    },
    TURN: { description: 'Excludes all other claims: one process of one participant answers.' },
  } as const,
})

builder.objectType('Claim', {
  description:
    'The right of one process of a participant to answer a turn, in all its versions. The process proves it by a token. '
    + 'The claim ends when the holder releases it, when it expires, or when a turn that answers with it is committed.',
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      description: 'First version of the claimed turn.',
      sharing: 'PER_VIEWER',
      resolve: ({ turnId }, _, context) => loadTurnOf(context, turnId),
    }),
    participant: t.field({
      type: 'Participant',
      nullable: true,
      description: 'Holder of the claim. Null if the conversation has been deleted since.',
      sharing: 'PER_VIEWER',
      resolve: ({ conversationId, actor }, _, context) => loadParticipant(context, { conversationId, actor }),
    }),
    scope: t.expose('scope', {
      type: ClaimScopeEnum,
      description: 'Determines which other claims on the turn this claim excludes.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the claim expires. Null while a streaming turn answers: its lease keeps the claim.',
    }),
  }),
})

const SECONDS = `Defaults to ${CLAIM_TTL.default}; ${CLAIM_TTL.min} to ${CLAIM_TTL.max.toLocaleString('en-US')}.`

const turnField = (t: InputFieldBuilder) => ({
  turnId: t.id({ required: true, description: 'Id of any version of the turn.' }),
})
const HOLDER = 'Actor that holds the claim; must be a present participant.'

const ClaimTurnInput = builder.inputType('ClaimTurnInput', {
  description: 'Input of claimTurn: the turn to answer, and the token that proves the claim.',
  fields: (t) => ({
    ...turnField(t),
    scope: t.field({
      type: ClaimScopeEnum,
      description: 'Determines which other claims on the turn this claim excludes. Defaults to AGENT.',
    }),
    claimToken: t.string({
      required: true,
      description:
        `Secret of the process that answers, ${WRITER_TOKEN.min} to ${WRITER_TOKEN.max} characters, for example a random `
        + 'UUID. Answering, renewing and releasing require it. Repeated with the same token, claimTurn returns the claim.',
    }),
    ttlSeconds: t.int({
      description: `Seconds after which the claim expires, unless it is renewed or a streaming turn answers. ${SECONDS}`,
    }),
    ...asField(t, 'Actor that claims the turn; must be a present participant.'),
  }),
})

const claimPayload = (verb: 'ClaimTurn' | 'RenewClaim' | 'ReleaseClaim', description: string) =>
  payload<{ claim: Claim }>(verb).implement({
    description: `Result of ${verb[0]!.toLowerCase()}${verb.slice(1)}.`,
    fields: (t) => ({ claim: t.expose('claim', { type: 'Claim', description }) }),
  })

builder.mutationField('claimTurn', (t) =>
  t.field({
    type: claimPayload('ClaimTurn', 'The live claim.'),
    description:
      'Claims the right to answer a committed turn. Fails with Conflict if another claim excludes it, or if the turn was '
      + 'answered. To answer, pass the token and `replyToId` to appendTurn or openTurn.',
    errors: orErrors('ClaimTurn', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: ClaimTurnInput, required: true, description: 'Turn and token.' }) },
    resolve: async (_, { input }, { deps, viewer }) => ({ claim: await claimTurn(deps, viewer, input) }),
  }),
)

const tokenField = (t: InputFieldBuilder) => ({
  claimToken: t.string({ required: true, description: 'The `claimToken` passed to claimTurn.' }),
})

const RenewClaimInput = builder.inputType('RenewClaimInput', {
  description: 'Input of renewClaim: the claim, and the number of seconds after which it expires.',
  fields: (t) => ({
    ...turnField(t),
    ...tokenField(t),
    ttlSeconds: t.int({ description: `Seconds from now after which the claim expires. ${SECONDS}` }),
    ...asField(t, HOLDER),
  }),
})

builder.mutationField('renewClaim', (t) =>
  t.field({
    type: claimPayload('RenewClaim', 'The renewed claim.'),
    description:
      'Sets the time at which a live claim expires. Not needed while a streaming turn answers. Fails with Conflict if the '
      + 'claim has ended.',
    errors: orErrors('RenewClaim', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: RenewClaimInput, required: true, description: 'Claim and time.' }) },
    resolve: async (_, { input }, { deps, viewer }) => ({ claim: await renewClaim(deps, viewer, input) }),
  }),
)

const ReleaseClaimInput = builder.inputType('ReleaseClaimInput', {
  description: 'Input of releaseClaim: the claim, and whether the turn needs an answer.',
  fields: (t) => ({
    ...turnField(t),
    ...tokenField(t),
    dismiss: t.boolean({
      defaultValue: false,
      description:
        'Whether the turn needs no answer from the participant. If true, its inbox does not deliver the turn again, '
        + 'even if the claim was already released or has expired. Defaults to false.',
    }),
    ...asField(t, HOLDER),
  }),
})

builder.mutationField('releaseClaim', (t) =>
  t.field({
    type: claimPayload('ReleaseClaim', 'The claim as it was before it ended.'),
    description:
      'Ends a claim without an answer, so that the inbox delivers the turn again. A claim that was released or has expired '
      + 'stays as it is. Fails with Conflict while a streaming turn answers: abort that turn, which releases the claim. With '
      + '`dismiss`, also fails with Conflict if the participant has another live claim on the turn, or a run of the server '
      + 'answers it for the participant.',
    errors: orErrors('ReleaseClaim', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: ReleaseClaimInput, required: true, description: 'The claim to end.' }) },
    resolve: async (_, { input }, { deps, viewer }) => ({ claim: await releaseClaim(deps, viewer, input) }),
  }),
)

const CLAIM_EVENTS: Record<ClaimEvent['type'], [description: string, participant: string]> = {
  TurnClaimed: ['A participant claimed the right to answer a turn.', 'The participant that will answer.'],
  ClaimReleased: [
    'A claim ended without an answer: it was released or expired, or the turn that answered was aborted.',
    'The participant that held the claim.',
  ],
}

for (const [name, [description, participant]] of Object.entries(CLAIM_EVENTS)) {
  builder
    .objectRef<ClaimEvent>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({
        turn: t.expose('turn', { type: 'Turn', description: 'First version of the claimed turn.' }),
        participant: t.expose('participant', { type: 'Participant', description: participant }),
      }),
    })
}
