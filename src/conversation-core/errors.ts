// The errors of history builders and the engine.

export { ConversationNotFound, IdConflict, RequestFailed } from '../transcript/errors.ts'

/** The new messages, with the tool calls that they answer, do not fit the budget of the history. */
export class HistoryBudgetTooSmall extends Error {
  override readonly name = 'HistoryBudgetTooSmall'
  readonly code = 'BUDGET_TOO_SMALL'
  /** The exceeded limit of the budget. */
  readonly limit: 'maxMessages' | 'maxChars' | 'maxTokens'
  /** Minimum value of the limit for which the messages fit. */
  readonly required: number
  constructor(limit: 'maxMessages' | 'maxChars' | 'maxTokens', given: number, required: number) {
    super(`The new messages need ${limit} of at least ${required}; the budget has ${given}.`)
    this.limit = limit
    this.required = required
  }
}

/** A message of a turn belongs to another conversation. Nothing was stored. */
export class ForeignMessage extends Error {
  override readonly name = 'ForeignMessage'
  readonly code = 'INVALID_INPUT'
  constructor(messageId: string, conversationId: string) {
    super(
      `Message ${JSON.stringify(messageId)} belongs to another conversation than ${JSON.stringify(conversationId)}.`,
    )
  }
}

/** The stream of a provider ended without its last event, `done`. The reply was not stored. */
export class StreamIncomplete extends Error {
  override readonly name = 'StreamIncomplete'
  readonly code = 'PROVIDER_FAILED'
  constructor() {
    super('The stream of the provider ended without the event "done". Run the turn again.')
  }
}
