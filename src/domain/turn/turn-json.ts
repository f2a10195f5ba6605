// Templates of turns that Postgres renders as JSON (pageOfTurnJson).

import { objectFormat, type TemplateField, type TurnTemplate } from '../../store/sql/turn/turn-json.ts'

export { canRender, type TemplateField, type TurnTemplate } from '../../store/sql/turn/turn-json.ts'

/** Returns the number of values of an object with these fields, including the object itself. */
const valuesIn = (fields: readonly TemplateField[]): number =>
  fields.reduce(
    (sum, { value }) => sum + (typeof value === 'object' && 'fields' in value ? valuesIn(value.fields) : 1),
    1,
  )

const hasCursor = (fields: readonly TemplateField[]): boolean =>
  fields.some(
    ({ value }) => value === 'cursor' || (typeof value === 'object' && 'fields' in value && hasCursor(value.fields)),
  )

/**
 * Returns the template of a list whose items have these fields.
 * @param withEnds whether the positions of the first and the last turn are needed
 */
export const turnTemplate = (fields: readonly TemplateField[], withEnds: boolean): TurnTemplate => ({
  format: objectFormat(fields),
  values: valuesIn(fields),
  withCursors: hasCursor(fields),
  withEnds,
})
