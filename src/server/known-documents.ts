// Remembers documents that yoga has parsed and validated, so that post.ts can execute them at once.

import type { DocumentNode, ExecutionResult } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'

/** Documents kept at most, and the longest that is kept, in UTF-16 units. */
const MOST_DOCUMENTS = 1_000
const LONGEST = 20_000

/** Valid documents by their text. */
export type KnownDocuments = Map<string, DocumentNode>
/** A finished result, which yoga only has to send. */
export type Answered = { answer?: ExecutionResult }

/** A yoga plugin: adds each valid document to `known`, and sends `answer` where the context has one. */
export const useKnownDocuments = (known: KnownDocuments): Plugin<object, Answered> => ({
  onValidate:
    ({ params: { documentAST }, context }) =>
    ({ valid }) => {
      const text = (context.params as GraphQLParams | undefined)?.query
      if (!valid || !text || text.length > LONGEST || known.has(text)) return
      // The oldest document is dropped; yoga validates it again when it is next sent.
      if (known.size >= MOST_DOCUMENTS) known.delete(known.keys().next().value!)
      known.set(text, documentAST)
    },
  onParams({ context, setResult }) {
    if (context.answer) setResult(context.answer)
  },
})
