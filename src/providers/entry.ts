// The type of the entries in registry.ts. An entry describes one provider.

import type { z } from 'zod'

/** A problem with a variable, for the operator. The message is printed after the variable's name and value. */
export type Problem = [variable: string, message: string]

/** The parsed values of an entry's variables. */
export type Values<Variables extends z.ZodRawShape> = z.output<z.ZodObject<Variables>>

/**
 * One provider of a kind. `Settings` is its configuration; `Dependencies` is the type of the objects passed to
 * `create`; `Port` is the interface that the provider implements.
 */
export type Entry<Settings, Dependencies, Port, Variables extends z.ZodRawShape = z.ZodRawShape> = {
  /** Shown in parentheses after the provider's name in the documentation. Default: nothing. */
  note?: string
  /** The environment variables that the provider reads. Providers that read the same variable use the same field. */
  variables: Variables
  /** Yields the problems of a combination of variables. Called only if each variable is valid on its own. */
  problems(env: Values<Variables>): Iterable<Problem>
  settings(env: Values<Variables>): Settings
  create(settings: Settings, dependencies: Dependencies): Promise<Port>
}

/** Name and dimension of the embedder that computed stored vectors. */
export type StoredEmbedder = { name: string; dimension: number }
