// The share of one operation in the budget of large answers. An operation takes it when it has read more than a small
// amount of data, and waits until it is granted; it keeps it until its answer is written or its connection is closed.
// So a client that does not read its answers keeps few of them in memory, and its further operations wait.

import { type ByteBudget, type ByteShare, ANSWER_BYTES } from '../../../domain/kernel/limits/byte-budget.ts'
import type { Viewer } from '../../../domain/kernel/view.ts'

/** Size of the data or answer of an operation, in bytes, up to which it needs no share. */
export const FREE_BYTES = 128 * 1024
/** Size of the first share of an operation, in bytes. */
const FIRST_BYTES = 1024 * 1024
/** Maximum size of a share that is taken before the size of the answer is known, in bytes. */
const MAX_BYTES = ANSWER_BYTES / 4

export class AnswerShare {
  readonly #budget: ByteBudget
  readonly #viewer: Viewer
  readonly #maxBytes: number
  #share: ByteShare | null = null
  #bytes = 0
  /** Whether the size of the answer is known. */
  #isFitted = false
  /** Whether the answer has been written, or cannot be written any more. */
  #isSent = false

  /** @param maxBytes maximum size of an answer */
  constructor(budget: ByteBudget, viewer: Viewer, maxBytes: number) {
    this.#budget = budget
    this.#viewer = viewer
    this.#maxBytes = Math.min(maxBytes, MAX_BYTES)
  }

  /** Size of the share, in bytes; 0 without one. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Takes a share for an operation that has read so many bytes, unless its share suffices. A larger share replaces the
   * former one: an operation that kept it while it waits could block others that do the same.
   * @throws QueueFull
   */
  take(bytes: number): void {
    if (bytes <= Math.max(FREE_BYTES, this.#bytes) || this.#bytes >= this.#maxBytes) return
    this.#replace(bytes <= FIRST_BYTES ? Math.min(FIRST_BYTES, this.#maxBytes) : this.#maxBytes)
  }

  /** Takes a share of the size of the answer, if the present one does not suffice; otherwise reduces it. @throws QueueFull */
  fit(bytes: number): void {
    this.#isFitted = true
    if (this.#isSent || bytes <= FREE_BYTES) this.release()
    else if (bytes > this.#bytes) this.#replace(bytes)
    else this.#share!.resize((this.#bytes = bytes))
  }

  /** Resolves when the newest share is granted, or released. @throws QueueFull if it is withdrawn for another tenant */
  async granted(): Promise<void> {
    for (let share = this.#share, next; share; share = next) {
      await share.granted
      next = this.#share === share ? null : this.#share
    }
  }

  /**
   * Returns the share to the budget, because the answer has been written or its connection is closed. A mutation that is
   * still running keeps its share until `fit`.
   */
  sent(isMutation: boolean): void {
    this.#isSent = true
    if (this.#isFitted || !isMutation) this.release()
  }

  /** Returns the share to the budget. */
  release(): void {
    this.#share?.release()
    this.#share = null
    this.#bytes = 0
  }

  #replace(bytes: number): void {
    this.#share?.release()
    this.#share = null
    this.#bytes = 0
    this.#share = this.#budget.take(this.#viewer, bytes)
    this.#bytes = bytes
  }
}
