// What is redacted for each tenant: the stronger of the server's setting and the tenant's own. The modes of tenants are
// remembered, so that a write does not read them. A change is announced to every process on the bus; a mode is read
// again after MODE_LIFE_SECONDS, so an announcement that the bus loses delays a change by no more than that.

import { LRUCache } from 'lru-cache'
import type { Bus } from '../bus/bus.ts'
import type { Db } from '../store/db.ts'
import { strongerMode, type RedactionModes, type RedactMode } from './redaction.ts'

/** The topic of the bus on which every process learns the name of a tenant whose settings changed. */
export const TENANT_SETTINGS_TOPIC = 'tenant-settings'
/** Time for which a tenant's mode is not read again, in seconds. */
export const MODE_LIFE_SECONDS = 10
/** Maximum number of remembered tenants; at 200 characters each, at most 6 MB. */
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

  /** Reads the mode, and remembers it unless a change was announced meanwhile, which removes the promise. */
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
