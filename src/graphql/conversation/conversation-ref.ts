// The reference of an input to its conversation: by id, or by the key that the client chose.

import { isWithinReach, trusted } from '../../domain/kernel/rights/authorize.ts'
import { getConversationByKey } from '../../domain/conversation/conversation.ts'
import { InvalidInput, NotFound } from '../../errors.ts'
import type { InputFieldBuilder } from '../kernel/builder.ts'
import type { RequestContext } from '../kernel/request.ts'

type ConversationRef = { conversationId?: string | null; conversationKey?: string | null }

/** An input whose reference is resolved. */
type Resolved<Input, ConversationId> = Omit<Input, keyof ConversationRef> & { conversationId: ConversationId }

/** The fields `conversationId` and `conversationKey`; `purpose` completes the sentence "The conversation …". */
export const conversationRef = (t: InputFieldBuilder, purpose: string) => ({
  conversationId: t.id({ description: `Id of the conversation ${purpose}. Exclusive with \`conversationKey\`.` }),
  conversationKey: t.string({ description: `Key of the conversation ${purpose}, in place of \`conversationId\`.` }),
})

/**
 * Replaces the key of an input by the id of the conversation.
 * @throws InvalidInput unless the input has either an id or a key @throws NotFound for an unknown key
 */
export async function atConversation<Input extends ConversationRef>(
  context: RequestContext,
  input: Input,
): Promise<Resolved<Input, string>> {
  const resolved = await atConversationIfGiven(context, input)
  const { conversationId } = resolved
  if (conversationId == null) throw InvalidInput.at('conversationId', 'give conversationId or conversationKey')
  return { ...resolved, conversationId }
}

/**
 * Like `atConversation`, for an input that may have neither an id nor a key.
 * @throws InvalidInput if the input has both @throws NotFound for an unknown key
 */
export async function atConversationIfGiven<Input extends ConversationRef>(
  { reading, viewer, work }: RequestContext,
  { conversationId, conversationKey, ...rest }: Input,
): Promise<Resolved<Input, string | null | undefined>> {
  if (conversationKey == null) return { ...rest, conversationId }
  if (conversationId != null) {
    throw InvalidInput.at('conversationKey', 'must not be given together with conversationId')
  }
  // The verb checks the rights of the call, which may not include reading.
  const found = await work.read(() => getConversationByKey(reading, trusted(viewer), conversationKey))
  if (!found || !isWithinReach(viewer, found.id)) throw new NotFound('conversation', conversationKey)
  return { ...rest, conversationId: found.id }
}
