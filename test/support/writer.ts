/** The token of every writer of streaming turns in tests that need only one writer. */
export const WRITER = 'the-writer-of-a-test'
