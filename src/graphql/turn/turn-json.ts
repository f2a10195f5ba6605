// Finds the template by which Postgres renders a page of turns as JSON. There is one if the query selects one list of the
// page (nodes or edges) and only fields of the turns that can be rendered. executor.ts adds the list to the result.

import type { GraphQLResolveInfo } from 'graphql'
import { canRender, turnTemplate, type TemplateField, type TurnTemplate } from '../../domain/turn/turn-json.ts'
import type { RequestContext } from '../kernel/request.ts'
import { selectedByField, selectedIn, type Selected } from '../kernel/execution/selection.ts'

/** The template of each selection of a field of the type TurnConnection; null if its turns need objects. */
const templates = new WeakMap<readonly Selected[], TurnTemplate | null>()

type Document = Pick<GraphQLResolveInfo, 'schema' | 'fragments'>

/** Returns the fields that are selected on a turn or an edge; null if one of them cannot be rendered. */
function templateFields(document: Document, of: Selected): TemplateField[] | null {
  const fields: TemplateField[] = []
  for (const selected of selectedIn(document, of) ?? []) {
    const { key, parent, definition } = selected
    const name = definition?.name ?? '__typename'
    if (name === '__typename') fields.push({ key, value: { constant: parent.name } })
    else if (name === 'cursor') fields.push({ key, value: 'cursor' })
    else if (name === 'node') {
      const turn = templateFields(document, selected)
      if (!turn) return null
      fields.push({ key, value: { fields: turn } })
    } else if (!definition!.resolve && definition!.args.length === 0 && canRender(name))
      fields.push({ key, value: name })
    else return null
  }
  return fields.length > 0 ? fields : null
}

function templateOf(document: Document, page: readonly Selected[]): TurnTemplate | null {
  const lists = page.filter(({ definition }) => definition?.name === 'nodes' || definition?.name === 'edges')
  // Two lists would need two templates; without a list, there is nothing to render.
  const fields = lists.length === 1 ? templateFields(document, lists[0]!) : null
  const withEnds = page.some(({ definition }) => definition?.name === 'pageInfo')
  return fields && turnTemplate(fields, withEnds)
}

function cachedTemplate(
  { rendered }: RequestContext,
  document: Document,
  page: readonly Selected[] | null,
): TurnTemplate | null {
  if (!rendered || !page) return null
  let template = templates.get(page)
  if (template === undefined) templates.set(page, (template = templateOf(document, page)))
  return template
}

/** Returns the template for the turns of the field `turns` that is being resolved; null if they need objects. */
export const turnsTemplate = (context: RequestContext, info: GraphQLResolveInfo): TurnTemplate | null =>
  cachedTemplate(context, info, selectedByField(info))

/** Like `turnsTemplate`, for the field `turns` that is selected on the conversation being resolved. */
export const turnsAheadTemplate = (
  context: RequestContext,
  info: GraphQLResolveInfo,
  turns: Selected,
): TurnTemplate | null => cachedTemplate(context, info, selectedIn(info, turns))
