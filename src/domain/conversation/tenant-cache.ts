// The settings of each tenant that calls read: cached, so that a call reads no row. A change is announced to every process
// on the bus. Settings are also read again after SETTINGS_LIFE_SECONDS, which limits the delay if the bus loses an
// announcement.

import { LRUCache } from 'lru-cache'
import type { Bus } from '../../bus/bus.ts'
import type { Db, Tx } from '../../store/db/db.ts'
import {
  BUILT_IN_DEFAULTS,
  defaultsInEffect,
  type CallDefaults,
  type Defaults,
  type TenantDefaults,
} from '../kernel/call-defaults.ts'
import { strongerMode, type RedactionModes, type RedactMode } from '../kernel/redaction.ts'

/** The topic of the bus on which every process learns the name of a tenant whose settings changed. @internal */
export const TENANT_SETTINGS_TOPIC = 'tenant-settings'
/** Time for which the settings of a tenant are cached, in seconds. */
export const SETTINGS_LIFE_SECONDS = 10
/** Maximum number of cached tenants. They take at most 8 MB: each name has up to 200 characters. */
const MAX_TENANTS = 10_000

/** What a tenant sets itself; null for the setting of the server. */
export type StoredSettings = TenantDefaults & { redact: RedactMode | null; tokensPerDay: number | null }

/** Reads the settings of a tenant; all are null if it has set none. */
export async function readStoredSettings(db: Tx, tenant: string): Promise<StoredSettings> {
  const row = await db.tenantSettings.findFirst({ where: { tenant } })
  return {
    tokenBudget: row?.tokenBudget ?? null,
    contextStrategy: (row?.contextStrategy ?? null) as TenantDefaults['contextStrategy'],
    recallHits: row?.recallHits ?? null,
    recallThreshold: row?.recallThreshold ?? null,
    retention: row?.retention ?? null,
    ttlSeconds: row?.ttlSeconds ?? null,
    redact: (row?.redact ?? null) as RedactMode | null,
    tokensPerDay: row?.tokensPerDay ?? null,
  }
}

/** The settings of the server. Omitted defaults are built in. */
type Server = { redact: RedactMode; defaults?: Partial<CallDefaults> | undefined }
/** The settings that apply to a tenant. */
type Effective = { redact: RedactMode; defaults: CallDefaults }

export type TenantCache = { redaction: RedactionModes; defaults: Defaults; close(): Promise<void> }

type Deps = {
  db: Db
  bus: Pick<Bus, 'publish' | 'subscribe' | 'onRestored'>
  log: Record<'error', (details: object, message: string) => void>
}

export function createTenantCache({ db, bus, log }: Deps, { redact: least, defaults: given }: Server): TenantCache {
  const server: CallDefaults = { ...BUILT_IN_DEFAULTS, ...given }
  const settings = new LRUCache<string, Effective | Promise<Effective>>({
    max: MAX_TENANTS,
    ttl: SETTINGS_LIFE_SECONDS * 1000,
  })

  /** Reads the settings and caches them, unless an announced change removed the promise from the cache meanwhile. */
  function read(tenant: string): Promise<Effective> {
    const reading = readStoredSettings(db.of(tenant), tenant).then(
      (own) => {
        const effective = { redact: strongerMode(least, own.redact), defaults: defaultsInEffect(server, own) }
        if (settings.peek(tenant) === reading) settings.set(tenant, effective)
        return effective
      },
      (error: unknown) => {
        if (settings.peek(tenant) === reading) settings.delete(tenant)
        throw error
      },
    )
    settings.set(tenant, reading)
    return reading
  }

  const subscribed = bus
    .subscribe(TENANT_SETTINGS_TOPIC, (message) => void settings.delete(JSON.parse(message) as string))
    .catch((err: unknown) => {
      log.error({ err }, `changes of tenant settings take effect after up to ${SETTINGS_LIFE_SECONDS} s`)
      return async () => {}
    })
  const stopListening = bus.onRestored(() => settings.clear())
  const of = <Name extends keyof Effective>(tenant: string, name: Name): Effective[Name] | Promise<Effective[Name]> => {
    const known = settings.get(tenant) ?? read(tenant)
    return known instanceof Promise ? known.then((each) => each[name]) : known[name]
  }

  return {
    redaction: {
      least,
      // No tenant can strengthen the strongest mode.
      of: (tenant) => (least === 'turns' ? least : of(tenant, 'redact')),
      changed(tenant) {
        settings.delete(tenant)
        bus.publish(TENANT_SETTINGS_TOPIC, JSON.stringify(tenant))
      },
    },
    defaults: { server, of: (tenant) => of(tenant, 'defaults') },
    async close() {
      stopListening()
      await (
        await subscribed
      )()
    },
  }
}
