// The type of a registry entry, which describes one provider.

import type { z } from 'zod'

/** A problem with a variable. */
export type Problem = [variable: string, message: string]

/** Parsed values of the variables. */
export type Values<Variables extends z.ZodRawShape> = z.output<z.ZodObject<Variables>>

/**
 * One provider of a kind. `Settings` configure it, `Needs` are objects that the process provides, `Made` is its port.
 */
export type Entry<Settings, Needs, Made, Variables extends z.ZodRawShape = z.ZodRawShape> = {
  /** Shown in brackets after its name in the documentation. */
  note?: string
  /** The environment variables that it reads. Entries share a variable by sharing its field. */
  variables: Variables
  /** Yields problems of the variables in combination. Called only if each variable is valid on its own. */
  problems(env: Values<Variables>): Iterable<Problem>
  settings(env: Values<Variables>): Settings
  create(settings: Settings, needs: Needs): Promise<Made>
}

/** An embedder named by stored vectors. */
export type StoredEmbedder = { name: string; dimension: number }
