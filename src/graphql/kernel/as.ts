// `as`: the argument of the fields of Query and Subscription, and the field of the inputs of mutations, that names the
// actor of the whole operation. view/ determines the operation's viewer from it before anything is executed.

import type { InputFieldBuilder, ObjectFieldBuilder } from './builder.ts'

const DEFAULT = 'Defaults to the viewer of the request.'
const KNOWN = 'Fails with UNKNOWN_ACTOR unless it owns a conversation of the tenant, or is or was a participant of one.'
const SAME = 'All root fields of an operation must name the same actor.'

/** The argument `as` of a field that reads. */
export const asArg = ({ arg }: Pick<ObjectFieldBuilder<object>, 'arg'>) => ({
  as: arg.string({ description: `Actor in whose view the operation is answered. ${DEFAULT} ${KNOWN} ${SAME}` }),
})

/** The field `as` of an input. `purpose` says what the actor does; it may add a rule. */
export const asField = (t: InputFieldBuilder, purpose = 'Actor for whom the operation runs.') => ({
  as: t.string({ description: `${purpose} The result is in its view. ${DEFAULT} ${KNOWN} ${SAME}` }),
})

/** The field `as` of the input of a mutation with the option `introducesActor`. */
export const asNewField = (t: InputFieldBuilder, purpose: string) => ({
  as: t.string({ description: `${purpose} The result is in its view. ${DEFAULT} May be a new actor. ${SAME}` }),
})
