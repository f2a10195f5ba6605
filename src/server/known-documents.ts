// Remembers documents that yoga has parsed and validated, so that post.ts can execute them at once.

import type { DocumentNode, ExecutionResult } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'

/** Maximum number of documents kept, and maximum length of one, in UTF-16 units. */
const MAX_DOCUMENTS = 1_000
const MAX_LENGTH = 20_000

/** Valid documents by their text. */
export type KnownDocuments = Map<string, DocumentNode>
/** A finished result that yoga formats and sends. */
export type Answered = { answer?: ExecutionResult }

/** A yoga plugin: adds each valid document to `documents`, and sends `answer` if the context has one. */
export const useKnownDocuments = (documents: KnownDocuments): Plugin<object, Answered> => ({
  onValidate:
    ({ params: { documentAST }, context }) =>
    ({ valid }) => {
      const text = (context.params as GraphQLParams | undefined)?.query
      if (!valid || !text || text.length > MAX_LENGTH || documents.has(text)) return
      // The oldest document is dropped; yoga validates it again when it is next sent.
      if (documents.size >= MAX_DOCUMENTS) documents.delete(documents.keys().next().value!)
      documents.set(text, documentAST)
    },
  onParams({ context, setResult }) {
    if (context.answer) setResult(context.answer)
  },
})
