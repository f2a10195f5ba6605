// A yoga plugin that executes repeated queries by a plan. A query without a plan, or with invalid variables, falls back
// to yoga's executor before any resolver has run; a debug log and a counter report the fallback. A plan that has called
// a resolver never falls back, so no resolver runs twice.

import {
  getOperationAST,
  OperationTypeNode,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { counters } from '../../counters.ts'
import type { Log } from '../../domain/platform.ts'
import { compileQuery, NotPlannable, type Plan } from './compile.ts'

export type PlanPlugin = Plugin & {
  /** Number of executions of repeated queries since the process started, with and without a plan. */
  readonly executions: { planned: number; fallback: number }
}

/**
 * Creates the plugin. A plan is compiled on the second execution of a query, and kept as long as yoga keeps the
 * document.
 */
export function usePlans(log: Pick<Log, 'debug'>): PlanPlugin {
  const plans = new WeakMap<OperationDefinitionNode, Plan | NotPlannable>()
  const seen = new WeakSet<OperationDefinitionNode>()
  const executions = { planned: 0, fallback: 0 }

  const fallBack = (operation: OperationDefinitionNode, reason: string) => {
    executions.fallback += 1
    counters.plans.fallback += 1
    const details = { operation: operation.name?.value, reason, fallbacks: executions.fallback }
    log.debug(details, 'executing a query without a plan')
  }

  return {
    executions,
    onExecute({ args: { schema, document, operationName }, executeFn, setExecuteFn }) {
      const operation = getOperationAST(document, operationName)
      if (operation?.operation !== OperationTypeNode.QUERY) return
      if (!seen.has(operation)) return void seen.add(operation)
      let plan = plans.get(operation)
      if (!plan) plans.set(operation, (plan = planOf(schema, document, operation)))
      if (plan instanceof NotPlannable) return fallBack(operation, plan.message)
      const run = plan
      setExecuteFn((args) => {
        const result = run(args)
        if (result) {
          executions.planned += 1
          counters.plans.planned += 1
          return result
        }
        fallBack(operation, 'invalid variables')
        return executeFn(args)
      })
    },
  }
}

/** Returns the plan, or the reason that there is none. */
function planOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Plan | NotPlannable {
  try {
    return compileQuery(schema, document, operation)
  } catch (error) {
    if (error instanceof NotPlannable) return error
    throw error
  }
}
