// Creates, lists, rotates and revokes the API keys of a tenant. All of this needs the right `operate`. A viewer cannot
// create, rotate or revoke a key that permits more than its own credential does (issuer.ts).

import { z } from 'zod'
import { Conflict, NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import { ParticipantKind } from '../../../store/generated/enums.ts'
import type { ApiKeyRow } from '../../../store/sql/trust/api-key/api-key-columns.ts'
import { insertApiKey } from '../../../store/sql/trust/api-key/insert-api-key.ts'
import { lockFirstApiKey } from '../../../store/sql/trust/api-key/lock-first-api-key.ts'
import { pageApiKeys, type ApiKeyPosition } from '../../../store/sql/trust/api-key/page-api-keys.ts'
import { revokeApiKey as revoke } from '../../../store/sql/trust/api-key/revoke-api-key.ts'
import { rotateApiKey as rotate } from '../../../store/sql/trust/api-key/rotate-api-key.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { auditRecord } from '../../kernel/audit/line.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { newId } from '../../kernel/id.ts'
import { between, count, id, name, parse, time } from '../../kernel/input.ts'
import { paging, slice, type Page, type Paging } from '../../kernel/page.ts'
import type { Platform } from '../../kernel/platform.ts'
import { RIGHTS } from '../../kernel/rights/principal.ts'
import type { Viewer } from '../../kernel/view.ts'
import { requireHeld, requireIssuable } from './issuer.ts'
import { newToken } from './token.ts'

export type ApiKey = ApiKeyRow
/** A key with its token. The token cannot be read later, because only a hash of its secret is stored. */
export type IssuedApiKey = { apiKey: ApiKey; token: string }

/** Maximum number of conversations to which one key can be limited. */
export const MAX_KEY_CONVERSATIONS = 100
/** Maximum time for which a rotated secret stays valid: 30 days, in seconds. */
export const MAX_OVERLAP_SECONDS = 30 * 24 * 3600

/** The topic of the bus on which every process learns the id of a key that was rotated or revoked. */
export const API_KEY_TOPIC = 'api-keys'

type Deps = Pick<Platform, 'db' | 'bus' | 'audit'>

const createInput = z.object({
  name,
  actor: name,
  kind: z.enum(ParticipantKind).default('AGENT'),
  rights: z.array(z.enum(RIGHTS)).min(1, 'must name at least one right'),
  conversations: z
    .array(id('conversation'))
    .min(1, 'must name at least one conversation')
    .max(MAX_KEY_CONVERSATIONS, `must name at most ${MAX_KEY_CONVERSATIONS} conversations`)
    .nullish(),
  expiresAt: time.refine((given) => given.getTime() > Date.now(), 'must be in the future').nullish(),
})
export type CreateApiKeyInput = z.input<typeof createInput>

/** Stores a new key and records it in the audit log. @throws Conflict if a key of that name is not revoked */
async function issue(
  { audit }: Pick<Deps, 'audit'>,
  tx: Tx,
  viewer: Viewer,
  input: z.output<typeof createInput>,
): Promise<IssuedApiKey> {
  const keyId = newId('key')
  const { token, secretHash } = newToken(keyId)
  const { conversations = null, expiresAt = null, rights } = input
  const key = { ...input, id: keyId, tenant: viewer.tenant, rights: [...new Set(rights)], conversations, expiresAt }
  const apiKey = await insertApiKey(tx, { ...key, secretHash })
  if (!apiKey) {
    throw new Conflict(
      `There is an API key named ${JSON.stringify(input.name)}: rotate it, revoke it, or choose another name.`,
    )
  }
  await audit.append(tx, [auditRecord(viewer, 'createApiKey', [keyId], { details: { rights: rights.join(' ') } })])
  return { apiKey, token }
}

/**
 * Creates a key of the viewer's tenant. The token is in this result only.
 * @throws InvalidInput, NotAllowed, or Conflict if a key of that name is not revoked
 */
export async function createApiKey(deps: Deps, viewer: Viewer, input: CreateApiKeyInput): Promise<IssuedApiKey> {
  authorize(viewer, 'createApiKey')
  const given = parse(createInput, input)
  requireIssuable(viewer, 'createApiKey', { ...given, expiresAt: given.expiresAt ?? null })
  return withTransaction(deps.db, viewer.tenant, (tx) => issue(deps, tx, viewer, given))
}

/**
 * Creates the first key of a tenant, with all rights. Returns null if the tenant already has a key, even a revoked or
 * expired one. Calls `save` with the token before the commit; if `save` rejects, no key is created.
 */
export function createFirstApiKey(
  deps: Pick<Deps, 'db' | 'audit'>,
  first: { tenant: string; actor: string },
  save: (token: string) => Promise<void>,
): Promise<ApiKey | null> {
  return withTransaction(deps.db, first.tenant, async (tx) => {
    if (!(await lockFirstApiKey(tx, first.tenant))) return null
    const { actor } = first
    const input = parse(createInput, { name: 'first key', actor, kind: 'HUMAN', rights: [...RIGHTS] })
    const { apiKey, token } = await issue(deps, tx, first, input)
    await save(token)
    return apiKey
  })
}

const CURSOR = cursorFormat<ApiKeyPosition>(
  ({ createdAt, id: keyId }) => `key:${createdAt.getTime()}:${keyId}`,
  /^key:(\d{1,15}):(key_\w{26})$/,
  (at, keyId) => ({ createdAt: new Date(Number(at)), id: keyId }),
)

export const apiKeyCursor = (key: ApiKey): string => CURSOR.encode(key)

/**
 * Returns a page of the tenant's keys, newest first, including revoked and expired ones.
 * @throws InvalidInput, NotAllowed
 */
export async function getApiKeys(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  args: Paging,
): Promise<Page<ApiKey>> {
  authorize(viewer, 'getApiKeys')
  const page = paging(args, limits.pageSize)
  const rows = await pageApiKeys(db.of(viewer.tenant), viewer.tenant, {
    id: null,
    after: page.after === null ? null : CURSOR.decode(page.after, 'after'),
    before: page.before === null ? null : CURSOR.decode(page.before, 'before'),
    limit: page.size + 1,
    backwards: page.backwards,
  })
  return slice(rows, page)
}

/** Returns the key; null if the tenant has no such key. @throws NotAllowed */
export async function getApiKey({ db }: Pick<Deps, 'db'>, viewer: Viewer, keyId: string): Promise<ApiKey | null> {
  authorize(viewer, 'getApiKey')
  return findApiKey(db.of(viewer.tenant), viewer.tenant, keyId)
}

async function findApiKey(db: Tx, tenant: string, keyId: string): Promise<ApiKey | null> {
  const one = { id: keyId, after: null, before: null, limit: 1, backwards: false }
  return (await pageApiKeys(db, tenant, one))[0] ?? null
}

const rotateInput = z.object({
  id: id('key'),
  expectedVersion: count,
  overlapSeconds: between(0, MAX_OVERLAP_SECONDS).default(0),
})
export type RotateApiKeyInput = z.input<typeof rotateInput>

/**
 * Replaces the secret of a key. The replaced secret stays valid for `overlapSeconds`, 0 by default; secrets before it
 * become invalid immediately. The new token is in this result only.
 * @throws InvalidInput, NotFound, NotAllowed, or Conflict if the key is revoked or has another version
 */
export async function rotateApiKey(deps: Deps, viewer: Viewer, input: RotateApiKeyInput): Promise<IssuedApiKey> {
  authorize(viewer, 'rotateApiKey')
  const { id: keyId, expectedVersion, overlapSeconds } = parse(rotateInput, input)
  const { token, secretHash } = newToken(keyId)
  const apiKey = await withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const key = await findApiKey(tx, viewer.tenant, keyId)
    if (!key) throw new NotFound('API key', keyId)
    requireIssuable(viewer, 'rotateApiKey', key)
    if (key.revokedAt) throw new Conflict('The API key is revoked: create another one.')
    const change = { id: keyId, version: expectedVersion, secretHash, overlapSeconds }
    const rotated = await rotate(tx, viewer.tenant, change)
    if (!rotated) throw new Conflict(`The API key does not have version ${expectedVersion}: read its current version.`)
    await deps.audit.append(tx, [auditRecord(viewer, 'rotateApiKey', [keyId], { details: { overlapSeconds } })])
    afterCommit(() => announce(deps, keyId))
    return rotated
  })
  return { apiKey, token }
}

/** Announces to every process that the key was changed. */
const announce = ({ bus }: Pick<Deps, 'bus'>, keyId: string) => bus.publish(API_KEY_TOPIC, JSON.stringify(keyId))

const revokeInput = z.object({ id: id('key') })

/**
 * Revokes a key immediately and permanently. Revoking it again returns the same key.
 * @throws InvalidInput, NotFound, NotAllowed
 */
export async function revokeApiKey(deps: Deps, viewer: Viewer, input: { id: string }): Promise<ApiKey> {
  authorize(viewer, 'revokeApiKey')
  const { id: keyId } = parse(revokeInput, input)
  return withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const key = await findApiKey(tx, viewer.tenant, keyId)
    if (!key) throw new NotFound('API key', keyId)
    requireHeld(viewer, 'revokeApiKey', key)
    const revoked = await revoke(tx, viewer.tenant, keyId)
    if (!revoked) throw new NotFound('API key', keyId)
    await deps.audit.append(tx, [auditRecord(viewer, 'revokeApiKey', [keyId])])
    afterCommit(() => announce(deps, keyId))
    return revoked
  })
}
