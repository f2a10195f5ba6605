// Derives the configuration fields, their documentation, the checks of combinations and the provider settings from the
// registry of providers.

import type { z } from 'zod'
import { oneOf } from '../runtime/fields.ts'
import type { Entry, Problem } from '../providers/entry.ts'
import { KINDS, type EmbedderSettings, type FactSettings, type SummarizerSettings } from '../providers/registry.ts'
import type { RerankerSettings } from '../providers/reranker-registry.ts'

type AnyEntry = Entry<unknown, never, unknown>
/** A kind of provider, for example the embedder. `variable` is the variable that selects the provider. */
type Kind = { variable: string; description: string; entries: Record<string, AnyEntry> }
type Environment = Record<string, unknown>

const kinds: Kind[] = Object.values(KINDS)

/** The variables of a kind, except the one that selects the provider; each once, in the order of the kind's entries. */
const fieldsOf = ({ entries }: Kind): Record<string, z.ZodType> =>
  Object.assign({}, ...Object.values(entries).map(({ variables }) => variables)) as Record<string, z.ZodType>

/** Lists the names of the entries, for example: `a`, `b` (built in) or `c`. */
function listed(entries: Kind['entries']): string {
  const names = Object.entries(entries).map(([name, { note }]) => `\`${name}\`${note ? ` (${note})` : ''}`)
  return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ')
}

const shapeOf = (kind: Kind): Record<string, z.ZodType> => {
  const names = Object.keys(kind.entries)
  const choice = oneOf(...names)
    .prefault(names[0]!)
    .describe(`${kind.description}: ${listed(kind.entries)}.`)
  return { [kind.variable]: choice, ...fieldsOf(kind) }
}

/** The variables of all providers. For each kind, the variable that selects the provider comes first. */
export const providerVariables = Object.assign({}, ...kinds.map(shapeOf)) as Record<string, z.ZodType>

/**
 * Whether providers of several kinds read the variable. Such a variable may be set even if the selected provider of one
 * kind does not read it.
 */
const isShared = (name: string) => kinds.filter((kind) => name in fieldsOf(kind)).length > 1

function* problemsOf(kind: Kind, env: Environment): Generator<Problem> {
  const { variable, entries } = kind
  const chosen = entries[env[variable] as string]!
  for (const name of Object.keys(fieldsOf(kind))) {
    if (name in chosen.variables || isShared(name) || env[name] === undefined) continue
    const readers = Object.keys(entries).filter((each) => name in entries[each]!.variables)
    const choices = readers.map((each) => `${variable}=${each}`).join(' or ')
    yield [name, `requires ${choices}; set one of them, or unset ${name}`]
  }
  yield* chosen.problems(env)
}

/** For each kind, the names of its variables and the check of their combination. */
export const providerChecks = kinds.map((kind) => ({
  variables: Object.keys(shapeOf(kind)),
  problems: (env: Environment) => problemsOf(kind, env),
}))

const settingsOf = ({ variable, entries }: Kind, env: Environment) =>
  Object.freeze(entries[env[variable] as string]!.settings(env))

/** The settings of the selected providers, frozen. */
export const providersOf = (env: Environment) => ({
  embedder: settingsOf(KINDS.embedder, env) as EmbedderSettings,
  reranker: settingsOf(KINDS.reranker, env) as RerankerSettings,
  summarizer: settingsOf(KINDS.summarizer, env) as SummarizerSettings,
  extractor: settingsOf(KINDS.extractor, env) as FactSettings,
})
