// The contract with clients is the schema of the last release. Prints the schema, and finds changes since the release
// that the new version number does not allow. A breaking change needs a new major version, and a line in CHANGELOG.md.

import {
  buildSchema,
  findBreakingChanges,
  findDangerousChanges,
  parse,
  print,
  printSchema,
  visit,
  type GraphQLSchema,
} from 'graphql'

/** The schema of the last release, written by `npm run schema -- --release`. */
export const CONTRACT = new URL('./contract.graphql', import.meta.url)

/**
 * Prints the schema. Adds the definition of the directive `@oneOf`, which printSchema omits: some generators of clients
 * accept only directives that the file defines.
 */
export const printContract = (schema: GraphQLSchema): string =>
  `"""Exactly one field of the input object must be given, and must not be null."""
directive @oneOf on INPUT_OBJECT

${printSchema(schema)}
`

/** A version of the package with its schema. */
export type Contract = { version: string; schema: GraphQLSchema }

const HEADER = /^# The contract of version (\d+\.\d+\.\d+)\b.*\n\n/

/** Prints the contract of a release. */
export const printRelease = ({ version, schema }: Contract): string =>
  `# The contract of version ${version}, written by \`npm run schema -- --release\`.\n\n${printContract(schema)}`

/** Parses the output of `printRelease`. @throws Error if it does not begin with a version */
export function readRelease(text: string): Contract {
  const version = HEADER.exec(text)?.[1]
  if (version === undefined)
    throw new Error('scripts/contract.graphql does not begin with its version. Restore it from the last release.')
  return { version, schema: buildSchema(text) }
}

const numbersOf = (version: string) => version.split(/[.-]/).slice(0, 3).map(Number) as [number, number, number]

/** Whether version `a` is older than `b`. */
function isOlder(a: string, b: string): boolean {
  const [left, right] = [numbersOf(a), numbersOf(b)]
  const at = left.findIndex((number, index) => number !== right[index])
  return at >= 0 && left[at]! < right[at]!
}

/** Returns the text of the changelog before the section of the version. Newer sections come first. */
export const changesSince = (changelog: string, version: string): string => changelog.split(`\n## [${version}]`)[0]!

/** Returns the schema coordinate of a breaking change: `Type`, `Type.field` or `Enum.VALUE`. */
function coordinateOf(description: string): string {
  const [, value, enumType] = /^(\w+) was removed from enum type (\w+)/.exec(description) ?? []
  if (enumType) return `${enumType}.${value}`
  const [, field, input] = /^A required field (\w+) on input type (\w+)/.exec(description) ?? []
  if (input) return `${input}.${field}`
  const [, union] = /was removed from union type (\w+)/.exec(description) ?? []
  return union ?? /\b[A-Z]\w*\.\w+|\b[A-Z]\w+/.exec(description.replace(/^[A-Z](?:n)? \w+ arg/, ''))?.[0] ?? description
}

/** Returns descriptions of the changes that may break a client. */
const breakingChanges = (before: GraphQLSchema, after: GraphQLSchema): string[] =>
  [
    ...findBreakingChanges(before, after),
    ...findDangerousChanges(before, after).filter(({ type }) => type === 'ARG_DEFAULT_VALUE_CHANGE'),
  ].map(({ description }) => description.replace(/\.$/, ''))

/**
 * Returns the reasons why `next` must not follow the release `last`: an older version; breaking changes without a new
 * major version; or, with a new major version, breaking changes whose schema coordinates, for example `Turn.text`, the
 * changelog does not contain in backticks.
 */
export function problemsOf(last: Contract, next: Contract, changelog: string): string[] {
  if (isOlder(next.version, last.version)) {
    return [`package.json has version ${next.version}, but ${last.version} is released.`]
  }
  const [major] = numbersOf(last.version)
  const changes = breakingChanges(last.schema, next.schema)
  if (numbersOf(next.version)[0] === major) {
    return changes.map(
      (change) =>
        `Breaking change since ${last.version}: ${change}. Keep the old form and mark it @deprecated, or raise the version in package.json to ${major + 1}.0.0.`,
    )
  }
  const named = changesSince(changelog, last.version)
  return changes
    .filter((change) => !named.includes(`\`${coordinateOf(change)}\``))
    .map(
      (change) =>
        `Breaking change since ${last.version}: ${change}. Name \`${coordinateOf(change)}\` in the topmost section of CHANGELOG.md.`,
    )
}

/** Prints the schema without descriptions, which are not part of the contract. */
const withoutDescriptions = (schema: GraphQLSchema): string =>
  print(visit(parse(printContract(schema)), { StringValue: (_, key) => (key === 'description' ? null : undefined) }))

/** Returns the reasons why `next` must not be released after `last`: those of `problemsOf`, and those of a release. */
export function problemsOfRelease(last: Contract, next: Contract, changelog: string): string[] {
  const problems = problemsOf(last, next, changelog)
  if (next.version === last.version && withoutDescriptions(next.schema) !== withoutDescriptions(last.schema)) {
    problems.push(`Version ${last.version} is released: raise the version in package.json before the next release.`)
  }
  if (!new RegExp(`^## \\[${next.version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm').test(changelog)) {
    problems.push(`CHANGELOG.md has no section "## [${next.version}] - YYYY-MM-DD".`)
  }
  return problems
}
