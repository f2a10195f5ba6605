// The authenticator of all transports: determines the principal of a token, and ends the sockets and event streams of a
// token that expires or is revoked. An accepted API key is read again after KEY_LIFE_MS, so a lost message of the bus
// delays a revocation by at most that time. Only hashes of tokens are cached, never the tokens themselves.

import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../runtime/clock.ts'
import type { Authentication } from '../../config/authentication.ts'
import { API_KEY_TOPIC } from '../../domain/trust/api-key/api-key.ts'
import { looksLikeToken, readToken, type Token } from '../../domain/trust/api-key/token.ts'
import { auditRecord, type AuditRecord } from '../../domain/kernel/audit/line.ts'
import { createVerifier } from '../../domain/trust/api-key/verify.ts'
import type { Deps } from '../../domain/deps.ts'
import type { Principal } from '../../domain/kernel/rights/principal.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { ServerBusy, Unavailable } from '../../errors.ts'
import type { Refusal } from '../http/refuse.ts'
import { createJwtVerifier, InvalidToken } from './jwt.ts'
import type { Names } from './names.ts'
import {
  EXPIRED,
  INVALID_TOKEN,
  NO_TOKEN,
  OF_PROBLEM,
  OTHER_ACTOR,
  OTHER_TENANT,
  unauthenticated,
  unavailable,
} from './refusals.ts'
import { createSessions, type Credential, type OnEnd } from './sessions.ts'

/** Maximum length of a token, in characters. */
const MAX_TOKEN_LENGTH = 8 * 1024
/** Time for which an accepted API key is not read again, ms. */
const KEY_LIFE_MS = 3_000
/** Time for which an accepted JSON Web Token is not verified again, ms. */
const JWT_LIFE_MS = 60_000
/** Time for which a refused token is not verified again, ms. */
const REFUSAL_LIFE_MS = 5_000
/** Maximum memory of the cached tokens, in bytes. */
const REMEMBERED_BYTES = { accepted: 8 * 1024 * 1024, refused: 1024 * 1024 }
/** Approximate memory of a cached token without its names, of a refusal, and of its audit record, in bytes. */
const ENTRY_BYTES = { accepted: 1_000, refused: 300, record: 1_500 }

/** The authenticated client of a request or a socket. */
export type Identity = {
  viewer: Viewer
  /** Calls `onEnd` once, when the token expires or is revoked. Returns a function that removes the callback. */
  watch(onEnd: OnEnd): () => void
}

export type Authenticator = {
  /** Whether clients must authenticate. */
  readonly isRequired: boolean
  /**
   * Returns the identity, or the refusal of the request. Returns a promise only if the token must be verified.
   * @param token null if the client sent none; empty if it sent other credentials
   * @param names the names that the client sent, which must agree with the token
   */
  identify(token: string | null, names: Names): Identity | Refusal | Promise<Identity | Refusal>
  close(): Promise<void>
}

type Accepted = Credential & { viewer: Viewer }
/** The refusal of a token. `record` is written to the audit log at each use of the token; null for no record. */
type Refused = { refusal: Refusal; record: AuditRecord | null }
type Verified = Accepted | Refused

const refuse = (refusal: Refusal, record: AuditRecord | null = null): Refused => ({ refusal, record })

const neverEnds = () => () => {}

/** The authenticator that trusts the names of the request. */
const TRUSTING: Authenticator = {
  isRequired: false,
  identify: (_, { tenant, actor }) => ({
    viewer: { tenant: tenant ?? 'default', actor: actor ?? 'anonymous' },
    watch: neverEnds,
  }),
  close: async () => {},
}

const isExpired = ({ expiresAt }: Principal, now: number) => expiresAt !== null && expiresAt.getTime() <= now

const sizeOf = ({ principal }: Accepted) =>
  ENTRY_BYTES.accepted
  + 2 * (principal.tenant.length + principal.actor.length + principal.credential.length)
  + 100 * (principal.conversations?.size ?? 0)

/** Creates the cache of the tokens that were accepted or refused recently, by their hashes. */
function createMemory({ Date, performance: perf }: Clock) {
  const accepted = new LRUCache<string, Accepted>({ maxSize: REMEMBERED_BYTES.accepted, sizeCalculation: sizeOf, perf })
  const refused = new LRUCache<string, Refused>({
    maxSize: REMEMBERED_BYTES.refused,
    sizeCalculation: ({ record }) => ENTRY_BYTES.refused + (record ? ENTRY_BYTES.record : 0),
    ttl: REFUSAL_LIFE_MS,
    perf,
  })
  return {
    recall(digest: string): Verified | undefined {
      const found = accepted.get(digest)
      return found && !isExpired(found.principal, Date.now()) ? found : refused.get(digest)
    },
    remember(digest: string, outcome: Verified): void {
      if ('viewer' in outcome) accepted.set(digest, outcome, { ttl: outcome.key ? KEY_LIFE_MS : JWT_LIFE_MS })
      else if (outcome.refusal.status === 401) refused.set(digest, outcome)
    },
    /** Removes an API key from the cache; all keys if the id is null. */
    forget(keyId: string | null): void {
      for (const [digest, { key }] of accepted.entries()) {
        if (key && (keyId === null || key.keyId === keyId)) accepted.delete(digest)
      }
    },
  }
}

/** Returns the audit record of the use of an expired token; null if its principal is unknown. */
const useOfExpired = (principal: Principal | null): AuditRecord | null =>
  principal
  && auditRecord({ tenant: principal.tenant, actor: principal.actor, principal }, 'authenticate', [], {
    outcome: 'DENIED',
    details: { reason: 'expired' },
  })

/** Creates the functions that verify tokens without a cache. `of` never rejects; `ofKey` may. */
function createVerification(deps: Deps, { jwt }: Authentication) {
  const verifyKey = createVerifier(deps)
  const verifyJwt = jwt && createJwtVerifier(jwt, deps.clock)

  async function ofKey(key: Token): Promise<Principal | Refused> {
    const found = await verifyKey(key)
    return 'problem' in found ? refuse(OF_PROBLEM[found.problem], found.record) : found
  }

  async function of(token: string, key: Token | null): Promise<Principal | Refused> {
    try {
      if (key) return await ofKey(key)
      return verifyJwt && !looksLikeToken(token) ? await verifyJwt(token) : refuse(INVALID_TOKEN)
    } catch (error) {
      if (error instanceof InvalidToken) return refuse(unauthenticated(error.message), useOfExpired(error.expired))
      if (error instanceof Unavailable) return refuse(unavailable(error.message))
      if (!(error instanceof ServerBusy)) deps.log.error({ err: error }, 'a token could not be verified')
      return refuse(unavailable('Your token cannot be verified at present. Try again later.'))
    }
  }
  return { ofKey, of }
}

/** Creates the authenticator. It receives changes of API keys from the bus until it is closed. */
export function createAuthenticator(deps: Deps, settings: Authentication): Authenticator {
  if (!settings.isRequired) return TRUSTING
  const memory = createMemory(deps.clock)
  const verification = createVerification(deps, settings)
  const verifyAgain = (key: Token) =>
    verification.ofKey(key).then((found) => ('refusal' in found ? found.refusal : found))
  const sessions = createSessions(deps.clock, verifyAgain, EXPIRED)
  /** The running verifications by the hash of the token, so that simultaneous requests share one. */
  const running = new Map<string, Promise<Verified>>()

  function changed(keyId: string | null): void {
    memory.forget(keyId)
    void sessions.recheck(keyId)
  }
  const receive = (message: string) => changed(JSON.parse(message) as string)
  const subscribed = deps.bus.subscribe(API_KEY_TOPIC, receive).catch((err: unknown) => {
    deps.log.error({ err }, 'changes of API keys are not received from the bus and take effect after some seconds')
    return async () => {}
  })
  const stopListening = deps.bus.onRestored(() => changed(null))

  async function verify(token: string, digest: string): Promise<Verified> {
    const key = readToken(token)
    const found = await verification.of(token, key)
    running.delete(digest)
    if ('refusal' in found) {
      memory.remember(digest, found)
      return found
    }
    const { tenant, actor } = found
    const accepted = { digest, key, principal: found, viewer: { tenant, actor, principal: found } }
    memory.remember(digest, accepted)
    return accepted
  }

  function authenticate(token: string | null): Verified | Promise<Verified> {
    if (token === null) return refuse(NO_TOKEN)
    if (token === '' || token.length > MAX_TOKEN_LENGTH) return refuse(INVALID_TOKEN)
    const digest = hash('sha256', token, 'base64')
    const known = memory.recall(digest) ?? running.get(digest)
    if (known) return known
    const verified = verify(token, digest)
    running.set(digest, verified)
    return verified
  }

  function enter(found: Verified, { tenant, actor }: Names): Identity | Refusal {
    if ('refusal' in found) {
      if (found.record) deps.audit.note(found.record)
      return found.refusal
    }
    const refusal =
      tenant !== null && tenant !== found.viewer.tenant
        ? OTHER_TENANT
        : actor !== null && actor !== found.viewer.actor
          ? OTHER_ACTOR
          : null
    if (refusal) {
      deps.audit.note(auditRecord(found.viewer, 'authenticate', [], { outcome: 'DENIED' }))
      return refusal
    }
    return { viewer: found.viewer, watch: (onEnd) => sessions.watch(found, onEnd) }
  }

  return {
    isRequired: true,
    identify(token, names) {
      const found = authenticate(token)
      return found instanceof Promise ? found.then((outcome) => enter(outcome, names)) : enter(found, names)
    },
    async close() {
      stopListening()
      sessions.close()
      await (
        await subscribed
      )()
    },
  }
}
