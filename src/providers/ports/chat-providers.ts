// The port for the chat providers of a server. Callers select a provider by its name. Only the adapter knows the URL
// and the key.

import type { ProviderAdapter } from './provider-adapter.ts'

/** A chat provider with its settings. */
export type NamedProvider = {
  /** 1 to 64 characters: lower-case letters, digits, "-" and "_". */
  readonly name: string
  readonly adapter: ProviderAdapter
  /** The model of runs for which neither the client nor the agent's settings name a model. */
  readonly defaultModel: string
  /** The models that runs may use; null for any model. */
  readonly models: readonly string[] | null
  /** Whether the adapter passes tools to its models. */
  readonly supportsTools: boolean
  /** Whether the adapter itself ends a call in which the provider sends nothing. */
  readonly limitsSilence: boolean
}

/** The chat providers of a server. */
export type Providers = {
  /** Returns the provider with the name; null if there is none. */
  get(name: string): NamedProvider | null
  /** Returns all providers, in ascending order of their names. */
  list(): readonly NamedProvider[]
  /** Ends running calls of the configured providers. Later calls fail with `CLOSED`. Idempotent. */
  close(): Promise<void>
}
