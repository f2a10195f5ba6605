// A test world: the real dependencies of the domain on a backend's database. Each test file has one world per backend,
// and each test uses its own tenant, so tests are independent.

import { randomInt } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import type { Clock } from '../../src/runtime/clock.ts'
import { createDeps, type DepsConfig, type OpenDeps } from '../../src/deps.ts'
import { createConversation, type CreateConversationInput } from '../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../src/domain/turn/append/turn-input.ts'
import type { Turn } from '../../src/domain/turn/turn.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { readJournalHead } from '../../src/store/sql/turn/journal/read-journal.ts'
import { checkGateOrder } from './gate-order.ts'
import { OFFLINE } from './offline.ts'
import { ABSENT_WRITERS } from './absent-writers.ts'
import { newWorldDir, type Backend, type Opened } from './backend.ts'

export type Tenant = {
  name: string
  /** The viewer of an actor of the tenant, who need not be a participant of any conversation. */
  as(actor: string): Viewer
  /** Creates a conversation as actor "owner", and returns its id. A string is a participant's name. */
  newConversation(...participants: (string | Participant)[]): Promise<string>
  /** Appends a turn by the actor, with role USER by default. */
  append(conversationId: string, actor: string, content: string, more?: Partial<TurnInput>): Promise<Turn>
  /** Seq of the newest journal entry. Null if the tenant has no such conversation. */
  lastSeq(conversationId: string): Promise<number | null>
}
type Participant = NonNullable<CreateConversationInput['participants']>[number]

export type TestWorld = {
  readonly deps: Deps
  /** URL of the database. Undefined if embedded, because other clients cannot connect to it. */
  readonly url: string | undefined
  /** Returns a new tenant of this world. */
  tenant(): Tenant
}

export const LIMITS = { turnBytes: 262_144, batchTurns: 1000, pageSize: 200 }

/**
 * Opens a world before the tests of the suite, and closes it afterwards. `settings` override the defaults below.
 * @param options.presentWriters whether writing makes authors present (absent-writers.ts)
 * @param options.clock the system's clock by default; timers of the fake one run only while a test advances it
 */
export function useWorld(
  backend: Backend,
  settings: Partial<DepsConfig> = {},
  { presentWriters = false, clock }: { presentWriters?: boolean; clock?: Clock } = {},
): TestWorld {
  let world: OpenDeps
  let opened: Opened | null = null
  let dataDir: string | null = null
  // Presence is stored in Redis under the names of its tenants, also after the test file has ended.
  let tenants = randomInt(1_000_000_000)

  beforeAll(async () => {
    // createDeps starts the embedded database itself, so it gets a migrated data directory instead of a URL.
    if (backend.name === 'embedded') dataDir = await newWorldDir()
    else opened = await backend.open()
    world = await createDeps(
      {
        databaseUrl: opened?.url,
        redisUrl: opened?.redisUrl,
        dataDir,
        databasePoolSize: 10,
        readTimeoutMs: 10_000,
        logLevel: 'warn',
        ...OFFLINE,
        limits: { ...LIMITS, bodyBytes: 16 * 2 ** 20, frameBytes: 2 ** 20 },
        streamLeaseMs: 30_000,
        presenceTtlMs: 60_000,
        rateLimitPoints: 0,
        ...settings,
      },
      pino({ level: 'fatal' }),
      { clock },
    )
    checkGateOrder(world.deps.gates)
    if (!presentWriters) world.deps.writers = ABSENT_WRITERS
  })
  afterAll(async () => {
    await world?.close()
    await opened?.close()
    if (dataDir) await rm(dataDir, { recursive: true })
  })

  return {
    get deps() {
      return world.deps
    },
    get url() {
      return opened?.url
    },
    tenant() {
      const name = `tenant-${++tenants}`
      const as = (actor: string) => ({ tenant: name, actor })
      return {
        name,
        as,
        async newConversation(...participants) {
          const named = participants.map((each) => (typeof each === 'string' ? { actor: each } : each))
          return (await createConversation(world.deps, as('owner'), { participants: named })).conversation.id
        },
        append: (conversationId, actor, content, more = {}) =>
          appendTurn(world.deps, as(actor), { conversationId, turn: { role: 'USER', content, ...more } }).then(
            ({ turn }) => turn,
          ),
        lastSeq: (conversationId) =>
          readJournalHead(world.deps.pool, name, conversationId).then((head) => head?.lastSeq ?? null),
      }
    },
  }
}
