// `asOf`: the argument of fields of Query that answers the whole operation as of a moment in the past. The root field
// replaces the dependencies with which the operation reads, so nested fields read the past, too.

import { Kind, type GraphQLResolveInfo } from 'graphql'
import { inThePast, momentOf, type AsOfInput } from '../../domain/memory/as-of.ts'
import { InvalidInput } from '../../errors.ts'
import { builder, type InputFieldBuilder, type ObjectFieldBuilder } from '../kernel/builder.ts'
import type { RequestContext } from '../kernel/request.ts'
import { rootFields } from '../kernel/execution/selection.ts'

const AsOf = builder.inputType('AsOf', {
  description:
    'A moment in the past: exactly one of its fields. Fails with InvalidInput if the moment is in the future.',
  fields: (t) => ({
    time: t.field({
      type: 'DateTime',
      description:
        'What the server knew at this time, by the clock of its database; times that applications set, such as '
        + '`createdAt` and `observedAt`, are not regarded.',
    }),
    seq: t.int({
      description:
        'Journal sequence number of an entry of the conversation that the operation names: the conversation is as of this '
        + 'entry, and everything else as of the time of the entry. 0 is the time before the first entry.',
    }),
  }),
})

const MEANING =
  'Answers the operation as of this moment: with what a server that was stopped then would answer, but with the rights that '
  + 'the viewer has today, and without content that was erased since. Must be the only root field of the operation. Defaults '
  + 'to null, for the present.'

/** The argument `asOf` of a field of Query. */
export const asOfArg = ({ arg }: Pick<ObjectFieldBuilder<object>, 'arg'>) => ({
  asOf: arg({ type: AsOf, description: MEANING }),
})

/** The field `asOf` of the input of a query. */
export const asOfField = (t: InputFieldBuilder) => ({ asOf: t.field({ type: AsOf, description: MEANING }) })

/** Throws if the operation selects another root field, which would be answered as of the moment, too. */
function requireOnlyField({ operation, fragments }: GraphQLResolveInfo): void {
  const document = { kind: Kind.DOCUMENT, definitions: Object.values(fragments) } as const
  const fields = [...rootFields(document, operation)].filter(({ name }) => name.value !== '__typename')
  if (fields.length > 1)
    throw InvalidInput.at('asOf', 'applies to the whole operation, so the operation must have no other root field')
}

/**
 * Makes the operation read as of the moment; null or undefined for the present. Call it in the resolver of a root field,
 * before the first read of `context.reading`.
 * @param conversationId the conversation that the field names; null or undefined for none
 * @throws InvalidInput @throws NotFound as `asOf` of the domain
 */
export async function enterPast(
  context: RequestContext,
  info: GraphQLResolveInfo,
  given: AsOfInput['asOf'] | null | undefined,
  conversationId: string | null | undefined = null,
): Promise<void> {
  if (given == null) return
  requireOnlyField(info)
  const { reading, viewer, work } = context
  const input = { asOf: given, conversationId: given.seq == null ? null : conversationId }
  context.reading = inThePast(reading, await work.read(() => momentOf(reading, viewer, input)))
}
