// The contract with clients: prints the schema, and finds the changes since the last release that the version does not
// allow. A breaking change needs a new major version, and a line in CHANGELOG.md.

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

/** A version of the package with its schema. */
export type Contract = { version: string; schema: GraphQLSchema }

const HEADER = /^# The contract of version (\d+\.\d+\.\d+)\b.*\n\n/

/** Prints the contract of a release. */
export const printRelease = ({ version, schema }: Contract): string =>
  `# The contract of version ${version}, written by \`npm run schema -- --release\`.\n\n${printContract(schema)}`

/** Reads a contract that `printRelease` has printed. @throws Error if it names no version */
export function readRelease(text: string): Contract {
  const version = HEADER.exec(text)?.[1]
  if (version === undefined)
    throw new Error('test/scripts/contract.graphql does not begin with its version. Restore it from the last release.')
  return { version, schema: buildSchema(text) }
}

const numbersOf = (version: string) => version.split(/[.-]/).slice(0, 3).map(Number) as [number, number, number]

/** Whether version `a` is older than `b`. */
function isOlder(a: string, b: string): boolean {
  const [left, right] = [numbersOf(a), numbersOf(b)]
  const at = left.findIndex((number, index) => number !== right[index])
  return at >= 0 && left[at]! < right[at]!
}

/** Returns the text of the changelog above the section of a version. */
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

/** The changes that may break a client, described. */
const breakingChanges = (before: GraphQLSchema, after: GraphQLSchema): string[] =>
  [
    ...findBreakingChanges(before, after),
    ...findDangerousChanges(before, after).filter(({ type }) => type === 'ARG_DEFAULT_VALUE_CHANGE'),
  ].map(({ description }) => description.replace(/\.$/, ''))

/**
 * Returns what keeps `next` from following the release `last`: breaking changes without a new major version, or with one
 * if the changelog does not contain their schema coordinates, for example `Turn.text`, in backticks.
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

/** The schema without descriptions, which are no part of the contract. */
const withoutDescriptions = (schema: GraphQLSchema): string =>
  print(visit(parse(printContract(schema)), { StringValue: (_, key) => (key === 'description' ? null : undefined) }))

/** Returns what keeps `next` from being released after `last`, in addition to `problemsOf`. */
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
