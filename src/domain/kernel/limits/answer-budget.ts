// The budget of the memory for large answers of this process, from the reads of an operation until its answer is written
// to the connection.

import { createByteBudget, type ByteBudget } from './byte-budget.ts'

/** Intended maximum number of bytes of all large answers that are being rendered or wait to be written. */
export const ANSWER_BYTES = 64 * 1024 * 1024

/** Maximum number of operations that wait for the budget. Each may have read some MB already. */
const MAX_WAITING_FOR_BYTES = { perViewer: 8, total: 32 }

export const createAnswerBudget = (): ByteBudget => createByteBudget(ANSWER_BYTES, MAX_WAITING_FOR_BYTES)
