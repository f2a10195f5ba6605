/** The writer token of streaming turns in tests with only one writer. */
export const WRITER = 'the-writer-of-a-test'
