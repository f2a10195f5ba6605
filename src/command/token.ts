// The command `colloquy token`: manages API keys in the server's database, without a running server. It opens only the
// database and the bus: a provider with another configuration than the server's would change stored data.

import type { Config } from '../config/config.ts'
import { createCleanup } from '../runtime/cleanup.ts'
import { systemClock } from '../runtime/clock.ts'
import { openBus, openStore } from '../deps.ts'
import { createAuditLog } from '../domain/kernel/audit/audit-log.ts'
import { integrityKeysOf } from '../domain/kernel/audit/integrity.ts'
import {
  apiKeyCursor,
  createApiKey,
  getApiKey,
  getApiKeys,
  revokeApiKey,
  rotateApiKey,
  type ApiKey,
  type IssuedApiKey,
} from '../domain/trust/api-key/api-key.ts'
import type { Right } from '../domain/kernel/rights/principal.ts'
import { NotFound } from '../errors.ts'
import { createLog } from '../runtime/log.ts'
import type { Result } from './output.ts'

/** The options of the commands; `list` and `revoke` use only `tenant`. */
export type TokenOptions = {
  json: boolean
  tenant: string
  actor: string
  rights: string[]
  name?: string
  kind?: string
  conversation?: string[]
  days?: number
}

type Deps = Parameters<typeof createApiKey>[0] & Parameters<typeof getApiKeys>[0]
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

const issued = ({ apiKey, token }: IssuedApiKey): Result => ({
  lines: [token],
  json: { apiKey: asJson(apiKey), token },
})

type Viewer = { tenant: string; actor: string }

/** Runs `work` with the database that the settings select. Nothing is logged, because programs read the output. */
async function withDatabase(
  { tenant }: TokenOptions,
  config: Config,
  work: (deps: Deps, viewer: Viewer) => Promise<Result>,
): Promise<Result> {
  const log = createLog('silent')
  const cleanup = createCleanup()
  const opening = { clock: systemClock, log, cleanup }
  try {
    const { db } = await openStore(config, opening)
    const { bus } = await openBus(config, opening)
    const audit = createAuditLog({
      clock: systemClock,
      db,
      key: integrityKeysOf(config.integrityKey)?.audit ?? null,
      log,
    })
    cleanup.add(() => audit.close())
    return await work({ db, bus, audit, limits: config.limits }, { tenant, actor: 'command-line' })
  } finally {
    await cleanup.run()
  }
}

/** Creates a key. @throws InvalidInput, Conflict, and the errors of opening the database */
export function createToken(options: TokenOptions, config: Config): Promise<Result> {
  const { actor, rights, name = actor, kind, conversation, days } = options
  const input = {
    name,
    actor,
    kind: kind as ApiKey['kind'] | undefined,
    rights: rights as Right[],
    conversations: conversation,
    expiresAt: days === undefined ? null : new Date(Date.now() + days * 24 * 3600 * 1000),
  }
  return withDatabase(options, config, async (deps, viewer) => issued(await createApiKey(deps, viewer, input)))
}

/** Lists all keys of the tenant, newest first. */
export const listTokens = (options: TokenOptions, config: Config): Promise<Result> =>
  withDatabase(options, config, async (deps, viewer) => {
    const keys: ApiKey[] = []
    let page: Awaited<ReturnType<typeof getApiKeys>>
    let after: string | null = null
    do {
      page = await getApiKeys(deps, viewer, { first: deps.limits.pageSize, after })
      keys.push(...page.items)
      after = page.items.length > 0 ? apiKeyCursor(page.items.at(-1)!) : null
    } while (page.hasNextPage)
    return { lines: keys.length > 0 ? keys.map(lineOf) : ['There are no API keys.'], json: keys.map(asJson) }
  })

/** Replaces the secret of a key. @throws NotFound */
export const rotateToken = (id: string, options: TokenOptions & { overlap: number }, config: Config): Promise<Result> =>
  withDatabase(options, config, async (deps, viewer) => {
    const key = await getApiKey(deps, viewer, id)
    if (!key) throw new NotFound('API key', id)
    const input = { id, expectedVersion: key.version, overlapSeconds: options.overlap }
    return issued(await rotateApiKey(deps, viewer, input))
  })

/** Revokes a key. @throws NotFound */
export const revokeToken = (id: string, options: TokenOptions, config: Config): Promise<Result> =>
  withDatabase(options, config, async (deps, viewer) => {
    const key = await revokeApiKey(deps, viewer, { id })
    return { lines: [lineOf(key)], json: asJson(key) }
  })
