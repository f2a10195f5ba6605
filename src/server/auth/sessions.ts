// The sessions of tokens: sockets and event streams. Ends a session when its token expires or is revoked. Sessions are
// grouped by token, so that a check reads each key only once.

import { every, type Clock } from '../../runtime/clock.ts'
import type { Token } from '../../domain/trust/api-key/token.ts'
import type { Principal } from '../../domain/kernel/rights/principal.ts'
import type { Refusal } from '../http/refuse.ts'

/** A token that was accepted. */
export type Credential = {
  /** Hash of the token. */
  digest: string
  principal: Principal
  /** Null for a JSON Web Token, which cannot be revoked. */
  key: Token | null
}

/** Called once, when the token is no longer accepted. */
export type OnEnd = (refusal: Refusal) => void

export type Sessions = {
  /** Adds a session. Returns a function that removes it. */
  watch(credential: Credential, onEnd: OnEnd): () => void
  /** Verifies an API key again, and ends its sessions if it is refused. Checks all keys if the id is null. */
  recheck(keyId: string | null): Promise<void>
  close(): void
}

/** Maximum delay of a timer in Node, ms. */
const MAX_DELAY_MS = 2 ** 31 - 1
/** Interval at which the API keys of all sessions are checked, ms. @internal */
export const RECHECK_MS = 2_000

type Group = { credential: Credential; expiresAt: Date | null; timer: NodeJS.Timeout | undefined; watchers: Set<OnEnd> }

/**
 * Creates the groups of sessions.
 * @param clock determines when a token expires and when keys are checked
 * @param verify verifies a key again; if it rejects, the sessions of the key continue
 * @param expired the refusal with which the sessions of an expired token end
 */
export function createSessions(
  clock: Clock,
  verify: (key: Token) => Promise<Principal | Refusal>,
  expired: Refusal,
): Sessions {
  const groups = new Map<string, Group>()

  /** Number of groups whose token is an API key. While there are some, all keys are checked periodically. */
  let keyGroups = 0
  let stopRechecks = async () => {}

  function add(credential: Credential): Group {
    const { digest, key, principal } = credential
    const group = { credential, expiresAt: principal.expiresAt, timer: undefined, watchers: new Set<OnEnd>() }
    groups.set(digest, group)
    if (key && ++keyGroups === 1) stopRechecks = every(clock, RECHECK_MS, () => recheck(null))
    return group
  }

  function remove({ timer, credential: { digest, key } }: Group): void {
    clock.clearTimeout(timer)
    groups.delete(digest)
    if (key && --keyGroups === 0) void stopRechecks()
  }

  function end(group: Group, refusal: Refusal): void {
    remove(group)
    for (const onEnd of group.watchers) onEnd(refusal)
  }

  /** Starts the timer that ends the sessions when the token expires. Restarts it after MAX_DELAY_MS if necessary. */
  function arm(group: Group): void {
    clock.clearTimeout(group.timer)
    if (group.expiresAt === null) return
    const left = group.expiresAt.getTime() - clock.Date.now()
    if (left <= 0) return end(group, expired)
    group.timer = clock.setTimeout(arm, Math.min(left, MAX_DELAY_MS), group)
    group.timer.unref()
  }

  async function check(group: Group, key: Token): Promise<void> {
    const found = await verify(key).catch(() => null)
    if (found === null || groups.get(group.credential.digest) !== group) return
    if ('status' in found) return end(group, found)
    group.expiresAt = found.expiresAt
    arm(group)
  }

  async function recheck(keyId: string | null): Promise<void> {
    const checks = [...groups.values()].flatMap((group) => {
      const { key } = group.credential
      return key && (keyId === null || key.keyId === keyId) ? [check(group, key)] : []
    })
    await Promise.all(checks)
  }

  return {
    watch(credential, onEnd) {
      const group = groups.get(credential.digest) ?? add(credential)
      group.watchers.add(onEnd)
      arm(group)
      return () => {
        group.watchers.delete(onEnd)
        if (group.watchers.size === 0 && groups.get(credential.digest) === group) remove(group)
      }
    },
    recheck,
    close() {
      for (const group of [...groups.values()]) remove(group)
    },
  }
}
