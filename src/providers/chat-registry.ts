// The registry of chat providers: creates the configured providers, and adds the providers that a user of the library
// passes. `create` imports the adapter, so that only the used adapters are loaded.

import type { ProviderAdapter } from './ports/provider-adapter.ts'
import type { NamedProvider, Providers } from './ports/chat-providers.ts'
import type { EchoProviderSettings } from './echo/provider.ts'
import type { OpenAiProviderSettings } from './openai/chat-provider.ts'

/** Settings of a configured provider. */
export type ChatProviderSettings =
  | ({ kind: 'openai'; model: string; models?: readonly string[] | undefined } & OpenAiProviderSettings)
  | ({ kind: 'echo'; mayDie?: boolean | undefined } & Omit<EchoProviderSettings, 'die'>)

/** A provider that a user of the library passes: an adapter, or an adapter with its models. */
export type GivenProvider =
  | ProviderAdapter
  | {
      adapter: ProviderAdapter
      /** The model for calls that name no model. */
      defaultModel: string
      /** The models that calls may name in addition to `defaultModel`. Default: any model. */
      models?: readonly string[] | null
      /** Whether the adapter passes tools to its models. Default: true. */
      supportsTools?: boolean
    }

/** The name of the model of an adapter that is passed without models. */
const ONLY_MODEL = 'default'

/** The format of providers' names. */
export const PROVIDER_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** Maximum number of providers of a server. */
export const MAX_PROVIDERS = 50

type Closable = NamedProvider & { close(): Promise<void> }

async function create(name: string, settings: ChatProviderSettings): Promise<Closable> {
  if (settings.kind === 'echo') {
    const { createEchoProvider, ECHO_MODEL } = await import('./echo/provider.ts')
    const die = settings.mayDie ? () => process.kill(process.pid, 'SIGKILL') : undefined
    const adapter = createEchoProvider({ ...settings, die })
    return {
      name,
      adapter,
      defaultModel: ECHO_MODEL,
      models: null,
      supportsTools: true,
      limitsSilence: true,
      close: adapter.close,
    }
  }
  const { createOpenAiProvider } = await import('./openai/chat-provider.ts')
  const adapter = createOpenAiProvider(settings)
  return {
    name,
    adapter,
    defaultModel: settings.model,
    models: modelsWith(settings.model, settings.models),
    supportsTools: true,
    limitsSilence: true,
    close: adapter.close,
  }
}

/** Returns the distinct models, the default one first; null for any model. */
const modelsWith = (defaultModel: string, models: readonly string[] | null | undefined): readonly string[] | null =>
  models ? [...new Set([defaultModel, ...models])] : null

function toNamed(name: string, given: GivenProvider): NamedProvider {
  if (!('adapter' in given))
    return { name, adapter: given, defaultModel: ONLY_MODEL, models: null, supportsTools: true, limitsSilence: false }
  const { adapter, defaultModel, models, supportsTools = true } = given
  return { name, adapter, defaultModel, models: modelsWith(defaultModel, models), supportsTools, limitsSilence: false }
}

/**
 * Creates the configured providers and adds the given ones, which replace configured ones of the same name. Sends no
 * request. @throws TypeError for an invalid name or too many providers
 */
export async function createProviders(
  configured: Readonly<Record<string, ChatProviderSettings>>,
  given: Readonly<Record<string, GivenProvider>> = {},
): Promise<Providers> {
  const names = Object.keys({ ...configured, ...given }).sort()
  const invalid = names.find((name) => !PROVIDER_NAME.test(name))
  if (invalid !== undefined)
    throw new TypeError(`The name of the provider ${JSON.stringify(invalid)} must match ${PROVIDER_NAME}.`)
  if (names.length > MAX_PROVIDERS)
    throw new TypeError(`There are ${names.length} providers; at most ${MAX_PROVIDERS} are allowed.`)
  const own: Closable[] = []
  const providers = new Map<string, NamedProvider>()
  for (const name of names) {
    const each = given[name] ? toNamed(name, given[name]) : await create(name, configured[name]!)
    if ('close' in each) own.push(each as Closable)
    providers.set(name, each)
  }
  const list = [...providers.values()]
  return {
    get: (name) => providers.get(name) ?? null,
    list: () => list,
    async close() {
      for (const each of own) await each.close()
    },
  }
}
