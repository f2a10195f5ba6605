// What the registry says of one provider.

import type { z } from 'zod'

/** A variable that cannot be used, and why. */
export type Problem = [variable: string, message: string]

/** Values of variables, as their fields read them. */
export type Values<Variables extends z.ZodRawShape> = z.output<z.ZodObject<Variables>>

/**
 * One provider of a kind. `Settings` are what it is made with, `Needs` what the process lends it, `Made` is the port.
 */
export type Entry<Settings, Needs, Made, Variables extends z.ZodRawShape = z.ZodRawShape> = {
  /** What a user should know of it, in brackets behind its name. */
  note?: string
  /** The environment variables that it reads, with their descriptions. Entries share a variable by sharing its field. */
  variables: Variables
  /** What is wrong with the variables, taken together. Asked only where each alone is right. */
  problems(env: Values<Variables>): Iterable<Problem>
  settings(env: Values<Variables>): Settings
  create(settings: Settings, needs: Needs): Promise<Made>
}

/** An embedder that vectors in the database name. */
export type StoredEmbedder = { name: string; dimension: number }
