// Hides the errors that yoga itself throws while it handles a request. Without this, yoga responds with the stack.

import type { GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** A yoga plugin: an unexpected error of the request handler becomes a masked JSON response with status 500. */
export const useMaskedFailures = (mask: (error: unknown) => GraphQLError): Plugin => ({
  onRequest({ requestHandler, setRequestHandler, fetchAPI }) {
    setRequestHandler(async (request, context) => {
      try {
        return await requestHandler(request, context)
      } catch (error) {
        return fetchAPI.Response.json({ errors: [mask(error)] }, { status: 500 })
      }
    })
  },
})
