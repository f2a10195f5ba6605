// Keeps documents that yoga has parsed and validated, so that post.ts can execute them without doing so again.

import type { DocumentNode, ExecutionResult } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'

/** Maximum number of documents. */
const MAX_DOCUMENTS = 1_000
/** Maximum length of a document, in UTF-16 units. */
const MAX_LENGTH = 20_000

/** Valid documents by their text, oldest first. */
export type KnownDocuments = Map<string, DocumentNode>
/** Context with a finished result, which yoga formats and sends instead of executing the operation. */
export type WithResult = { result?: ExecutionResult }

/** A yoga plugin: adds each valid document to `documents`, and sends `result` if the context has one. */
export const useKnownDocuments = (documents: KnownDocuments): Plugin<object, WithResult> => ({
  onValidate:
    ({ params: { documentAST }, context }) =>
    ({ valid }) => {
      const text = (context.params as GraphQLParams | undefined)?.query
      if (!valid || !text || text.length > MAX_LENGTH || documents.has(text)) return
      // Drop the oldest document; yoga validates it again when it is next sent.
      if (documents.size >= MAX_DOCUMENTS) documents.delete(documents.keys().next().value!)
      documents.set(text, documentAST)
    },
  onParams({ context, setResult }) {
    if (context.result) setResult(context.result)
  },
})
