// The contract with clients: prints the schema, and finds the breaking changes since the last release that CHANGELOG.md
// does not name.

import { findBreakingChanges, printSchema, type GraphQLSchema } from 'graphql'

/** The schema of the last release, written by `npm run schema -- --release`. */
export const CONTRACT = new URL('../test/scripts/contract.graphql', import.meta.url)

/**
 * Prints the schema. Defines the directive `@oneOf`, which printSchema omits, because some clients' generators know
 * only the directives that the file defines.
 */
export const printContract = (schema: GraphQLSchema): string =>
  `"""Exactly one field of the input object must be given, and must not be null."""
directive @oneOf on INPUT_OBJECT

${printSchema(schema)}
`

/** Returns the text of the changelog's first version, which is not yet released. */
export const newestVersion = (changelog: string): string => /^## .*?(?=^## |$(?![\s\S]))/ms.exec(changelog)?.[0] ?? ''

/** Returns the schema coordinate of a breaking change: `Type`, `Type.field` or `Enum.VALUE`. */
function coordinateOf(description: string): string {
  const [, value, enumType] = /^(\w+) was removed from enum type (\w+)/.exec(description) ?? []
  if (enumType) return `${enumType}.${value}`
  const [, field, input] = /^A required field (\w+) on input type (\w+)/.exec(description) ?? []
  if (input) return `${input}.${field}`
  const [, union] = /was removed from union type (\w+)/.exec(description) ?? []
  return union ?? /\b[A-Z]\w*\.\w+|\b[A-Z]\w+/.exec(description.replace(/^[A-Z](?:n)? \w+ arg/, ''))?.[0] ?? description
}

/**
 * Returns the descriptions of the breaking changes from `before` to `after` whose schema coordinates, for example
 * `Turn.text`, the changelog of the newest version does not contain in backticks.
 */
export const unnamedBreakingChanges = (before: GraphQLSchema, after: GraphQLSchema, changelog: string): string[] =>
  findBreakingChanges(before, after)
    .map(({ description }) => description)
    .filter((description) => !newestVersion(changelog).includes(`\`${coordinateOf(description)}\``))
