// The command `colloquy token`: manages API keys in the server's database, without a running server. It opens only the
// database and the bus: a provider with another configuration than the server's would change stored data.

import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { Config } from '../config/config.ts'
import { createCleanup } from '../cleanup.ts'
import { systemClock } from '../clock.ts'
import { openBus, openStore } from '../deps.ts'
import { createAuditLog } from '../domain/audit/audit-log.ts'
import { integrityKeysOf } from '../domain/integrity-key.ts'
import {
  apiKeyCursor,
  createApiKey,
  getApiKey,
  getApiKeys,
  revokeApiKey,
  rotateApiKey,
  type ApiKey,
  type IssuedApiKey,
} from '../domain/api-key/api-key.ts'
import { RIGHTS, type Right } from '../domain/principal.ts'
import { NotFound } from '../errors.ts'
import { createLog } from '../log.ts'

export const USAGE = `Usage: colloquy                starts the server; docs/configuration.md lists its settings
       colloquy token COMMAND  manages API keys
       colloquy --help         prints this text

Commands of colloquy token:
  create --actor NAME --rights RIGHT,…   creates a key and prints its token, which cannot be printed again
      --name TEXT                        name of the key; defaults to the actor
      --kind HUMAN|AGENT|TOOL            kind of the actor; defaults to AGENT
      --conversation ID                  limits the key to the conversation; may be repeated
      --days N                           days until the key expires; defaults to never
  list                                   prints the keys, newest first
  rotate ID                              replaces the secret and prints the new token
      --overlap SECONDS                  time for which the previous secret stays valid; defaults to 0
  revoke ID                              revokes the key

Options of all commands:
  --tenant NAME                          tenant of the keys; defaults to "default"
  --json                                 prints JSON

Rights: ${RIGHTS.join(', ')}. The settings of the server select the database.`

/** Whether the arguments ask for the usage. */
export const isHelp = (args: readonly string[]): boolean =>
  args[0] === 'help' || args.includes('--help') || args.includes('-h')

/** The arguments are invalid. The message names the mistake. */
export class UsageError extends Error {}

const OPTIONS = {
  tenant: { type: 'string', default: 'default' },
  json: { type: 'boolean', default: false },
  actor: { type: 'string' },
  rights: { type: 'string' },
  name: { type: 'string' },
  kind: { type: 'string' },
  conversation: { type: 'string', multiple: true },
  days: { type: 'string' },
  overlap: { type: 'string' },
} satisfies ParseArgsConfig['options']

type Options = ReturnType<typeof parse>['values']
const parse = (args: string[]) => parseArgs({ args, options: OPTIONS, allowPositionals: true })

const COMMON = ['tenant', 'json']
/** The options that each command accepts in addition to COMMON. */
const ACCEPTED: Record<string, readonly string[]> = {
  create: ['actor', 'rights', 'name', 'kind', 'conversation', 'days'],
  list: [],
  rotate: ['overlap'],
  revoke: [],
}

function wholeOf(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${option} must be a whole number.`)
  return Number(text)
}

type Deps = Parameters<typeof createApiKey>[0] & Parameters<typeof getApiKeys>[0]
/** The output of a command: lines for people, and the value that --json prints. */
type Output = { lines: string[]; json: unknown }

/** Returns the properties of a key that --json prints. */
const asJson = ({ id, name, actor, kind, rights, conversations, version, ...times }: ApiKey) => {
  const { createdAt, expiresAt, revokedAt, lastUsedAt } = times
  return { id, name, actor, kind, rights, conversations, version, createdAt, expiresAt, revokedAt, lastUsedAt }
}

/** Returns the date and time in UTC, to the minute. */
const time = (date: Date | null, otherwise: string) => date?.toISOString().slice(0, 16).replace('T', ' ') ?? otherwise

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return `revoked ${time(revokedAt, '')}`
  return expiresAt ? `${expiresAt.getTime() <= Date.now() ? 'expired' : 'expires'} ${time(expiresAt, '')}` : 'valid'
}

const lineOf = (key: ApiKey) =>
  [key.id, key.name, key.actor, key.rights.join(','), stateOf(key), `last used ${time(key.lastUsedAt, 'never')}`].join(
    '  ',
  )

const issued = ({ apiKey, token }: IssuedApiKey): Output => ({
  lines: [token],
  json: { apiKey: asJson(apiKey), token },
})

async function create(deps: Deps, viewer: { tenant: string; actor: string }, options: Options): Promise<Output> {
  const { actor, rights, name = actor, kind, conversation, days } = options
  if (actor === undefined || rights === undefined) throw new UsageError('create needs --actor and --rights.')
  const expiresAt = days === undefined ? null : new Date(Date.now() + wholeOf('days', days) * 24 * 3600 * 1000)
  const input = {
    name: name!,
    actor,
    kind: kind as ApiKey['kind'] | undefined,
    rights: rights.split(',') as Right[],
    conversations: conversation,
    expiresAt,
  }
  return issued(await createApiKey(deps, viewer, input))
}

async function list(deps: Deps, viewer: { tenant: string; actor: string }): Promise<Output> {
  const keys: ApiKey[] = []
  let page: Awaited<ReturnType<typeof getApiKeys>>
  let after: string | null = null
  do {
    page = await getApiKeys(deps, viewer, { first: deps.limits.pageSize, after })
    keys.push(...page.items)
    after = page.items.length > 0 ? apiKeyCursor(page.items.at(-1)!) : null
  } while (page.hasNextPage)
  return { lines: keys.length > 0 ? keys.map(lineOf) : ['There are no API keys.'], json: keys.map(asJson) }
}

/** Runs one command. @throws UsageError, or the errors of the verbs */
async function runCommand(deps: Deps, [command, id]: string[], options: Options): Promise<Output> {
  const viewer = { tenant: options.tenant, actor: 'command-line' }
  if (command === 'create') return create(deps, viewer, options)
  if (command === 'list') return list(deps, viewer)
  if (command === 'rotate') {
    const key = await getApiKey(deps, viewer, id!)
    if (!key) throw new NotFound('API key', id!)
    const overlapSeconds = wholeOf('overlap', options.overlap ?? '0')
    return issued(await rotateApiKey(deps, viewer, { id: id!, expectedVersion: key.version, overlapSeconds }))
  }
  const key = await revokeApiKey(deps, viewer, { id: id! })
  return { lines: [lineOf(key)], json: asJson(key) }
}

/** Checks the arguments. @throws UsageError */
function check(args: string[]): ReturnType<typeof parse> {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(args)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  const { positionals, values } = parsed
  const [command = '', ...ids] = positionals
  const accepted = ACCEPTED[command]
  if (!accepted) throw new UsageError(command ? `Unknown command: token ${command}.` : 'Name a command.')
  const needsId = command === 'rotate' || command === 'revoke'
  if (ids.length !== Number(needsId)) throw new UsageError(`token ${command} takes ${needsId ? 'one id' : 'no id'}.`)
  const wrong = Object.keys(values).find((option) => ![...COMMON, ...accepted].includes(option))
  if (wrong !== undefined) throw new UsageError(`token ${command} does not accept --${wrong}.`)
  return parsed
}

/**
 * Runs `colloquy token` with the arguments, and returns the text to print.
 * @throws UsageError, InvalidInput, NotFound, Conflict, and the errors of opening the database
 */
export async function tokenCommand(args: string[], config: Config): Promise<string> {
  const { positionals, values } = check(args)
  // Nothing is logged, because programs read the output.
  const log = createLog('silent')
  const cleanup = createCleanup()
  try {
    const { db } = await openStore(config, systemClock, log, cleanup)
    const { bus } = await openBus(config, systemClock, log, cleanup)
    const audit = createAuditLog({
      clock: systemClock,
      db,
      key: integrityKeysOf(config.integrityKey)?.audit ?? null,
      log,
    })
    cleanup.add(() => audit.close())
    const { lines, json } = await runCommand({ db, bus, audit, limits: config.limits }, positionals, values)
    return values.json ? JSON.stringify(json, null, 2) : lines.join('\n')
  } finally {
    await cleanup.run()
  }
}
