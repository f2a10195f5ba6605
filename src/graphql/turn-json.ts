// Finds the template by which Postgres renders a page of turns as JSON. There is one if a plan executes the query, and
// the query selects one list of the page (nodes or edges) and only fields of the turns that can be rendered.

import type { GraphQLResolveInfo } from 'graphql'
import { canRender, turnTemplate, type TemplateField, type TurnTemplate } from '../domain/turn/turn-json.ts'
import { plannedStep, type Step } from './plan/run.ts'

/** The template of each step whose type is TurnConnection; null if its turns need objects. */
const templates = new WeakMap<Step, TurnTemplate | null>()

/** Returns the fields that the step selects on a turn or an edge; null if one of them cannot be rendered. */
function fieldsOf({ completion: { steps } }: Step): TemplateField[] | null {
  const fields: TemplateField[] = []
  for (const step of steps) {
    const { key, property, field } = step
    if (field.name === '__typename') fields.push({ key, value: { constant: field.parent.name } })
    else if (field.name === 'cursor') fields.push({ key, value: 'cursor' })
    else if (field.name === 'node') {
      const turn = fieldsOf(step)
      if (!turn) return null
      fields.push({ key, value: { fields: turn } })
    } else if (property !== null && canRender(property)) fields.push({ key, value: property })
    else return null
  }
  return fields
}

function templateOf({ completion: { steps } }: Step): TurnTemplate | null {
  const lists = steps.filter(({ field }) => field.name === 'nodes' || field.name === 'edges')
  // Two lists would need two templates; without a list, there is nothing to render.
  const fields = lists.length === 1 ? fieldsOf(lists[0]!) : null
  const withEnds = steps.some(({ field }) => field.name === 'pageInfo')
  return fields && turnTemplate(fields, withEnds)
}

function cachedTemplate(step: Step): TurnTemplate | null {
  let template = templates.get(step)
  if (template === undefined) templates.set(step, (template = templateOf(step)))
  return template
}

/** Returns the template for the turns of the field `turns` that is being resolved; null if they need objects. */
export function turnsTemplate(info: GraphQLResolveInfo): TurnTemplate | null {
  const step = plannedStep(info)
  return step ? cachedTemplate(step) : null
}

/** Like `turnsTemplate`, for the only field `turns` that is selected on the conversation being resolved. */
export function turnsAheadTemplate(info: GraphQLResolveInfo): TurnTemplate | null {
  const turns = plannedStep(info)?.completion.steps.find(({ field }) => field.name === 'turns')
  return turns ? cachedTemplate(turns) : null
}

/** The fields of a conversation that are resolved from its id alone. */
const BY_ID = new Set(['id', 'turns', '__typename'])

/** Whether the field of the type Conversation that is being resolved selects only its turns and its id. */
export const selectsOnlyTurns = (info: GraphQLResolveInfo): boolean =>
  plannedStep(info)?.completion.steps.every(({ field }) => BY_ID.has(field.name)) ?? false
