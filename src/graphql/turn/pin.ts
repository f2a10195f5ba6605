// The mutations that pin and unpin turns.

import { pinTurn, unpinTurn, type Pinned } from '../../domain/turn/pin.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { builder, type InputFieldBuilder } from '../kernel/builder.ts'
import { orErrors, payload } from '../kernel/errors.ts'

const pinFields = (t: InputFieldBuilder) => ({
  turnId: t.id({ required: true, description: 'Id of any version of the turn.' }),
  ...asField(t, 'Actor for whom the operation runs; must be a present participant.'),
})

const pinPayload = (verb: 'PinTurn' | 'UnpinTurn') =>
  payload<Pinned>(verb).implement({
    description: `Result of ${verb === 'PinTurn' ? 'pinTurn' : 'unpinTurn'}.`,
    fields: (t) => ({
      turn: t.expose('turn', {
        type: 'Turn',
        description: 'Newest version of the turn that the viewer sees, after the change.',
      }),
      changed: t.exposeBoolean('changed', {
        description: 'Whether the call changed the turn. False if it already was as requested.',
      }),
    }),
  })

const PinTurnInput = builder.inputType('PinTurnInput', {
  description: 'Turn to pin, and the actor that pins it.',
  fields: pinFields,
})

builder.mutationField('pinTurn', (t) =>
  t.field({
    type: pinPayload('PinTurn'),
    description:
      'Pins a turn, so that contexts include it regardless of its age, as far as the budget allows. The viewer must be '
      + 'a present participant and see the turn. Edits keep the pin. Subscribers receive TurnUpdated.',
    errors: orErrors('PinTurn', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: PinTurnInput, required: true, description: 'Turn to pin.' }) },
    resolve: (_, { input }, { deps, viewer }) => pinTurn(deps, viewer, input),
  }),
)

const UnpinTurnInput = builder.inputType('UnpinTurnInput', {
  description: 'Turn to unpin, and the actor that unpins it.',
  fields: pinFields,
})

builder.mutationField('unpinTurn', (t) =>
  t.field({
    type: pinPayload('UnpinTurn'),
    description: 'Removes the pin of a turn. The viewer must be a present participant and see the turn.',
    errors: orErrors('UnpinTurn', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: UnpinTurnInput, required: true, description: 'Turn to unpin.' }) },
    resolve: (_, { input }, { deps, viewer }) => unpinTurn(deps, viewer, input),
  }),
)
