// The settings of the chat providers: PROVIDERS_FILE, a JSON object from names to providers, and CHAT_MODEL for one
// OpenAI-compatible server. PROVIDERS_FILE contains no keys; it names the files or variables that contain them.

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { endpoint, isLoopback, model, optionalFlag } from '../runtime/fields.ts'
import { STALL_MS } from '../providers/chat-adapter.ts'
import { MAX_PROVIDERS, PROVIDER_NAME, type ChatProviderSettings } from '../providers/chat-registry.ts'
import type { Problem } from '../providers/entry.ts'
import { keyProblems, OPENAI } from '../providers/variables.ts'

export const chatProviderVariables = {
  CHAT_MODEL: model.describe(
    'Model of the chat provider `openai`, at `OPENAI_BASE_URL` with `OPENAI_API_KEY`. Unset: there is no such '
      + 'provider, unless `PROVIDERS_FILE` names one.',
  ),
  CHAT_IMAGES: optionalFlag.describe(
    'Whether the model `CHAT_MODEL` accepts images; otherwise images are named as text. Unset: only at `api.openai.com`.',
  ),
  PROVIDERS_FILE: z
    .string()
    .optional()
    .describe('JSON file of chat providers, by name; see [Chat providers](#chat-providers). Unset: none.'),
  ECHO_PROVIDER: optionalFlag.describe(
    'Whether the chat provider `echo`, which needs no model, is offered. Unset: only if `HOST` is a loopback address.',
  ),
}

const key = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces or line breaks')

const seconds = z.int().min(1).max(300)

const openai = z.strictObject({
  kind: z.literal('openai'),
  baseUrl: endpoint.prefault('https://api.openai.com/v1'),
  apiKeyFile: z.string().min(1).optional(),
  apiKeyVariable: z.string().min(1).optional(),
  model: model.unwrap(),
  models: z.array(model.unwrap()).min(1).max(100).optional(),
  timeoutSeconds: seconds.optional(),
  images: z.boolean().optional(),
})

const echo = z.strictObject({
  kind: z.literal('echo'),
  wordMilliseconds: z.int().min(0).max(60_000).optional(),
  timeoutSeconds: seconds.optional(),
  mayDie: z.boolean().optional(),
})

const file = z
  .record(z.string().regex(PROVIDER_NAME, `must match ${PROVIDER_NAME}`), z.discriminatedUnion('kind', [openai, echo]))
  .refine((all) => Object.keys(all).length <= MAX_PROVIDERS, `must have at most ${MAX_PROVIDERS} providers`)

type Variables = Record<string, string | undefined>
export type ProvidersFile = { providers: Record<string, ChatProviderSettings>; problems: string[] }

/** Reads the API key of a provider; undefined if it needs none. @throws Error with the reason */
function readKey({ apiKeyFile, apiKeyVariable, baseUrl }: z.output<typeof openai>, env: Variables): string | undefined {
  if (apiKeyFile && apiKeyVariable) throw new Error('apiKeyFile and apiKeyVariable: only one of them may be set')
  if (!apiKeyFile && !apiKeyVariable) {
    if (new URL(baseUrl).hostname !== 'api.openai.com') return undefined
    throw new Error('apiKeyFile or apiKeyVariable is required by OpenAI')
  }
  const name = apiKeyFile ? `apiKeyFile ${JSON.stringify(apiKeyFile)}` : `apiKeyVariable ${apiKeyVariable}`
  const value = apiKeyFile ? readFileSync(apiKeyFile, 'utf8').trim() : env[apiKeyVariable!]
  if (!value) throw new Error(`${name} ${apiKeyFile ? 'must not be empty' : 'is not set'}`)
  const { error } = key.safeParse(value)
  if (error) throw new Error(`${name}: the key ${error.issues[0]!.message}`)
  return value
}

/** Returns the settings of a provider of the file. @throws Error with the first problem */
function settingsOf(
  name: string,
  given: z.output<typeof openai> | z.output<typeof echo>,
  env: Variables,
): ChatProviderSettings {
  const stallMs = given.timeoutSeconds === undefined ? STALL_MS : given.timeoutSeconds * 1000
  if (given.kind === 'echo') return { kind: 'echo', wordMs: given.wordMilliseconds, mayDie: given.mayDie, stallMs }
  const where = `of the provider ${name} in PROVIDERS_FILE`
  return {
    kind: 'openai',
    baseUrl: given.baseUrl,
    apiKey: readKey(given, env),
    model: given.model,
    models: given.models,
    acceptsImages: given.images,
    stallMs,
    settingNames: { url: `the baseUrl ${where}`, key: `the key ${where}`, model: `the model ${where}` },
  }
}

const causeOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return code ? `cannot be read (${code})` : message
}

/** Reads PROVIDERS_FILE and the keys that it names. Each problem is one line. */
export function readProvidersFile(env: Variables): ProvidersFile {
  const path = env.PROVIDERS_FILE
  if (path === undefined) return { providers: {}, problems: [] }
  const at = `PROVIDERS_FILE is ${JSON.stringify(path)}:`
  const problems: string[] = []
  const providers: Record<string, ChatProviderSettings> = {}
  try {
    const { data, error } = file.safeParse(JSON.parse(readFileSync(path, 'utf8')))
    for (const issue of error?.issues ?? []) {
      const message = issue.code === 'invalid_key' ? issue.issues[0]!.message : issue.message
      problems.push(`${at} ${[...issue.path, message].join(' ')}`)
    }
    for (const [name, each] of Object.entries(data ?? {})) {
      try {
        providers[name] = settingsOf(name, each, env)
      } catch (cause) {
        problems.push(`${at} ${name} ${causeOf(cause)}`)
      }
    }
  } catch (cause) {
    problems.push(`${at} ${cause instanceof SyntaxError ? 'is not JSON' : causeOf(cause)}`)
  }
  return { providers, problems }
}

type Environment = z.output<z.ZodObject<typeof chatProviderVariables>> & { HOST: string }
type OpenAiEnvironment = z.output<z.ZodObject<typeof OPENAI>>

/** Reports a missing OPENAI_API_KEY of the provider that CHAT_MODEL configures. */
function* chatProviderProblems(env: object): Generator<Problem> {
  const { CHAT_MODEL } = env as Partial<Environment>
  if (CHAT_MODEL !== undefined) yield* keyProblems(env as OpenAiEnvironment)
}

/** The check of the combination. */
export const chatProviderCheck = {
  variables: ['CHAT_MODEL', 'OPENAI_BASE_URL', 'OPENAI_API_KEY'],
  problems: chatProviderProblems,
}

/** Returns the providers that are configured without PROVIDERS_FILE, by name. */
export function chatProvidersOf(env: Environment): Record<string, ChatProviderSettings> {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = env as object as OpenAiEnvironment
  const settingNames = { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', model: 'CHAT_MODEL' }
  return {
    ...((env.ECHO_PROVIDER ?? isLoopback(env.HOST)) && { echo: { kind: 'echo' } }),
    ...(env.CHAT_MODEL !== undefined && {
      openai: { kind: 'openai', baseUrl, apiKey, model: env.CHAT_MODEL, acceptsImages: env.CHAT_IMAGES, settingNames },
    }),
  }
}
