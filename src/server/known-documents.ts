// The documents that yoga has parsed and validated, for post.ts to execute without doing so again.

import type { DocumentNode, ExecutionResult } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'

/** Documents kept at most, and the longest that is kept, in UTF-16 units. */
const MOST_DOCUMENTS = 1_000
const LONGEST = 20_000

/** Valid documents by their text. */
export type KnownDocuments = Map<string, DocumentNode>
/** A result that yoga only has to send. */
export type Answered = { answer?: ExecutionResult }

/** A yoga plugin: adds each valid document to `known`, and takes a result that is already there for the operation's. */
export const useKnownDocuments = (known: KnownDocuments): Plugin<object, Answered> => ({
  onValidate:
    ({ params: { documentAST }, context }) =>
    ({ valid }) => {
      const text = (context.params as GraphQLParams | undefined)?.query
      if (!valid || !text || text.length > LONGEST || known.has(text)) return
      // The oldest document leaves; it returns when yoga validates it again.
      if (known.size >= MOST_DOCUMENTS) known.delete(known.keys().next().value!)
      known.set(text, documentAST)
    },
  onParams({ context, setResult }) {
    if (context.answer) setResult(context.answer)
  },
})
