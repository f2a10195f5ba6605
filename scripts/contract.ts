// The contract with clients is the schema of the last release. Prints the schema, and finds changes since the release
// that the new version number does not allow. A breaking change needs a new major version, and a line in CHANGELOG.md; so
// do new root fields, settings and npm scripts, without a new major version.

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

/** The schema, the settings and the scripts of the last release, written by `npm run schema -- --release`. */
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

/** A version of the package, with its schema and the names of its settings and npm scripts. */
export type Contract = {
  version: string
  schema: GraphQLSchema
  settings: readonly string[]
  scripts: readonly string[]
}

const HEADER = /^# The contract of version (\d+\.\d+\.\d+)\b.*\n# Settings: (.*)\n# Scripts: (.*)\n\n/

/** Prints the contract of a release. */
export const printRelease = ({ version, schema, settings, scripts }: Contract): string =>
  `# The contract of version ${version}, written by \`npm run schema -- --release\`.
# Settings: ${settings.join(' ')}
# Scripts: ${scripts.join(' ')}

${printContract(schema)}`

/** Parses the output of `printRelease`. @throws Error if it does not begin with its header */
export function readRelease(text: string): Contract {
  const [, version, settings, scripts] = HEADER.exec(text) ?? []
  if (version === undefined)
    throw new Error('scripts/contract.graphql does not begin with its version. Restore it from the last release.')
  return { version, schema: buildSchema(text), settings: settings!.split(' '), scripts: scripts!.split(' ') }
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

/** Returns the names of the fields of Query, Mutation and Subscription. */
const rootFieldsOf = (schema: GraphQLSchema): string[] =>
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}),
  )

/** Returns the new root fields, settings and scripts that the changelog does not contain in backticks. */
function unnamedAdditions(last: Contract, next: Contract, changelog: string): string[] {
  const kinds: [kind: string, before: readonly string[], after: readonly string[]][] = [
    ['root field', rootFieldsOf(last.schema), rootFieldsOf(next.schema)],
    ['setting', last.settings, next.settings],
    ['script', last.scripts, next.scripts],
  ]
  const named = changesSince(changelog, last.version)
  return kinds.flatMap(([kind, before, after]) =>
    after
      .filter((name) => !before.includes(name) && !new RegExp(`\`${name}(?![\\w:])[^\`\\n]*\``).test(named))
      .map((name) => `New ${kind} since ${last.version}: name \`${name}\` in the topmost section of CHANGELOG.md.`),
  )
}

/**
 * Returns the reasons why `next` must not follow the release `last`: an older version; additions that the changelog does
 * not name; breaking changes without a new major version; or, with a new major version, breaking changes whose schema
 * coordinates, for example `Turn.text`, the changelog does not contain in backticks.
 */
export function problemsOf(last: Contract, next: Contract, changelog: string): string[] {
  if (isOlder(next.version, last.version)) {
    return [`package.json has version ${next.version}, but ${last.version} is released.`]
  }
  const unnamed = unnamedAdditions(last, next, changelog)
  const [major] = numbersOf(last.version)
  const changes = breakingChanges(last.schema, next.schema)
  if (numbersOf(next.version)[0] === major) {
    const broken = changes.map(
      (change) =>
        `Breaking change since ${last.version}: ${change}. Keep the old form and mark it @deprecated, or raise the version in package.json to ${major + 1}.0.0.`,
    )
    return [...broken, ...unnamed]
  }
  const named = changesSince(changelog, last.version)
  const broken = changes
    .filter((change) => !named.includes(`\`${coordinateOf(change)}\``))
    .map(
      (change) =>
        `Breaking change since ${last.version}: ${change}. Name \`${coordinateOf(change)}\` in the topmost section of CHANGELOG.md.`,
    )
  return [...broken, ...unnamed]
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
