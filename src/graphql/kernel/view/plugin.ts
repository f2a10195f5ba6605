// The yoga plugin that sets the viewer of every operation before it is executed.

import type { Plugin } from 'graphql-yoga'
import type { GraphQLError } from 'graphql'
import type { RequestContext } from '../request.ts'
import { enterView } from './enter.ts'

/** Must come after the plugin of the limits, so that an operation beyond them costs no read of the actor. */
export const useView = (): Plugin<RequestContext> => ({
  onExecute({ args, context, setResultAndStopExecution }) {
    const stop = (error: GraphQLError | null) => {
      if (error) setResultAndStopExecution({ errors: [error] })
    }
    const error = enterView(context, args)
    return error instanceof Promise ? error.then(stop) : stop(error)
  },
  async onSubscribe({ args, setResultAndStopExecution }) {
    const error = await enterView(args.contextValue, args)
    if (error) setResultAndStopExecution({ errors: [error] })
  },
})
