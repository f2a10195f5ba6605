// Checks that the installed executor of graphql-yoga calls the signal of an operation as Work expects, which counts
// values by these calls.

import { GraphQLInt, GraphQLObjectType, GraphQLSchema, parse } from 'graphql'
import { createYoga } from 'graphql-yoga'
import { CHECKS_PER_VALUE } from './work.ts'

/** The installed executor does not count values as Work expects, so the limit of values would be wrong. */
export class WrongExecutor extends Error {
  override readonly name = 'WrongExecutor'
}

type Execute = (args: object) => unknown

const value = { type: GraphQLInt, resolve: () => 1 }
const schema = new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields: { value } }) })

/** Returns the executor that yoga uses. */
const executorOfYoga = (): Execute => createYoga({ schema, logging: false }).getEnveloped({}).execute as Execute

/** Returns how often the executor checks the signal for a document with this number of values. */
function checksOf(execute: Execute, values: number): number {
  let checks = 0
  const signal = {
    aborted: false,
    throwIfAborted: () => void (checks += 1),
    addEventListener() {},
    removeEventListener() {},
  }
  const document = parse(`{ ${Array.from({ length: values }, (_, n) => `a${n}: value`).join(' ')} }`)
  execute({ schema, document, signal, contextValue: {} })
  return checks
}

/** @throws WrongExecutor */
export function checkExecutor(execute: Execute = executorOfYoga()): void {
  const checks = (checksOf(execute, 20) - checksOf(execute, 10)) / 10
  if (checks === CHECKS_PER_VALUE) return
  throw new WrongExecutor(
    `The installed @graphql-tools/executor checks the signal of an operation ${checks} times for each value. Colloquy `
      + `counts values by these checks, and expects ${CHECKS_PER_VALUE}. Add "@graphql-tools/executor": "2.1.0" to `
      + '"overrides" (npm, pnpm) or "resolutions" (Yarn) in package.json, and install again.',
  )
}
