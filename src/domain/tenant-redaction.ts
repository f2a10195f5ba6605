// The redaction mode of each tenant: the stronger of the server's mode and the tenant's own. Modes are cached, so that
// writes do not read them. A change is announced to every process on the bus. A mode is also read again after
// MODE_LIFE_SECONDS, which limits the delay if the bus loses an announcement.

import { LRUCache } from 'lru-cache'
import type { Bus } from '../bus/bus.ts'
import type { Db } from '../store/db.ts'
import { strongerMode, type RedactionModes, type RedactMode } from './redaction.ts'

/** The topic of the bus on which every process learns the name of a tenant whose settings changed. */
export const TENANT_SETTINGS_TOPIC = 'tenant-settings'
/** Time for which a tenant's mode is cached, in seconds. */
export const MODE_LIFE_SECONDS = 10
/** Maximum number of cached tenants. They take at most 6 MB: each name has up to 200 characters. */
const MAX_TENANTS = 10_000

export type TenantRedaction = RedactionModes & { close(): Promise<void> }

type Deps = {
  db: Db
  bus: Pick<Bus, 'publish' | 'subscribe' | 'onRestored'>
  log: Record<'error', (details: object, message: string) => void>
}

/** Returns the tenant's own mode; null for the server's. */
async function readMode(db: Db, tenant: string): Promise<RedactMode | null> {
  const settings = await db.of(tenant).tenantSettings.findFirst({ where: { tenant }, select: { redact: true } })
  return (settings?.redact ?? null) as RedactMode | null
}

export function createTenantRedaction({ db, bus, log }: Deps, least: RedactMode): TenantRedaction {
  // No tenant can strengthen the strongest mode.
  if (least === 'turns') return { least, of: () => least, changed() {}, close: async () => {} }
  const modes = new LRUCache<string, RedactMode | Promise<RedactMode>>({
    max: MAX_TENANTS,
    ttl: MODE_LIFE_SECONDS * 1000,
  })

  /** Reads the mode and caches it, unless an announced change removed the promise from the cache meanwhile. */
  function read(tenant: string): Promise<RedactMode> {
    const reading = readMode(db, tenant).then(
      (own) => {
        const mode = strongerMode(least, own)
        if (modes.peek(tenant) === reading) modes.set(tenant, mode)
        return mode
      },
      (error: unknown) => {
        if (modes.peek(tenant) === reading) modes.delete(tenant)
        throw error
      },
    )
    modes.set(tenant, reading)
    return reading
  }

  const subscribed = bus
    .subscribe(TENANT_SETTINGS_TOPIC, (message) => void modes.delete(JSON.parse(message) as string))
    .catch((err: unknown) => {
      log.error({ err }, `changes of tenant settings take effect after up to ${MODE_LIFE_SECONDS} s`)
      return async () => {}
    })
  const stopListening = bus.onRestored(() => modes.clear())

  return {
    least,
    of: (tenant) => modes.get(tenant) ?? read(tenant),
    changed(tenant) {
      modes.delete(tenant)
      bus.publish(TENANT_SETTINGS_TOPIC, JSON.stringify(tenant))
    },
    async close() {
      stopListening()
      await (
        await subscribed
      )()
    },
  }
}
