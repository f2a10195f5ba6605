// The table of rights, cell by cell: every verb, with exactly one right and with all rights but one, in every relation.
// Each cell calls the verb and compares the outcome with the table. The short run takes a random sixtieth of
// the cells, the long run a fifth, and the exhaustive run (long.ts) all.

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { DomainError, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { RIGHTS, type Principal, type Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { CONDITIONS, VERBS, type Permit } from '../../../../../src/domain/kernel/rights/rights.ts'
import { reaches, relationOf, type Relation } from '../../../../../src/domain/kernel/rights/relation.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import * as domain from '../../../../../src/index.ts'
import { requestedApprovals } from '../../../../support/approvals.ts'
import { backends } from '../../../../support/backend.ts'
import { isExhaustive, isLong } from '../../../../support/long.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { CALLS, type Call, type Given } from '../../rights-calls.ts'

const ACTORS: Record<Relation, string> = {
  OWNER: 'owner',
  ADMINISTRATOR: 'admin',
  PARTICIPANT: 'member',
  FORMER: 'former',
  STRANGER: 'stranger',
}
const RELATIONS = Object.keys(ACTORS) as Relation[]

type Outcome = 'ALLOWED' | 'NotAllowed' | 'NotFound'
type Standing = { relation: Relation; isOpen: boolean }

/** Each cell of deleteConversation gets a conversation of its own. */
const DELETE: Call = {
  verb: 'deleteConversation',
  is: 'CHANGE',
  run: ({ deps, viewer, given }) => deleteConversation(deps, viewer, given.id),
}
const ALL_CALLS = [...CALLS, DELETE]

const STANDINGS: Standing[] = [
  ...RELATIONS.map((relation) => ({ relation, isOpen: false })),
  { relation: 'STRANGER', isOpen: true },
  { relation: 'ADMINISTRATOR', isOpen: true },
]
const RIGHT_SETS = RIGHTS.flatMap((right) => [
  { name: `only ${right}`, rights: new Set<Right>([right]) },
  { name: `all but ${right}`, rights: new Set(RIGHTS.filter((each) => each !== right)) },
])
const ALL_RIGHTS: ReadonlySet<Right> = new Set(RIGHTS)

/** Verbs that concern a conversation, although the viewer's relation to it does not matter. */
const TRANSFERS = new Set<string>(['startExport', 'continueExport', 'cancelTransfer', 'getTransfer'])

/** Returns the outcome that the table states. */
function expected(
  { verb, conditions = [], concerns, is }: Call,
  standing: Standing,
  rights: ReadonlySet<Right>,
): Outcome {
  const { right, permit } = VERBS[verb]
  const relation = concerns === 'NONE' ? 'STRANGER' : standing.relation
  if (!rights.has(right)) return 'NotAllowed'
  const permits: Permit[] = [...(permit ? [permit] : []), ...conditions.map((each) => CONDITIONS[each])]
  const isPermitted = permits.every(
    (each) => rights.has(each.right) || (each.relation && reaches(relation, each.relation)),
  )
  if (concerns === 'NONE') return isPermitted ? 'ALLOWED' : 'NotAllowed'
  // With act-as, the relation of the author counts.
  if (conditions.includes('foreignActor') && isPermitted) return 'ALLOWED'
  if (relation === 'STRANGER' && !standing.isOpen) return 'NotFound'
  if (relation === 'FORMER' && is !== undefined) return 'NotAllowed'
  if (relation === 'STRANGER' && is === 'PRESENT') return 'NotAllowed'
  return isPermitted ? 'ALLOWED' : 'NotAllowed'
}

async function outcomeOf(call: () => Promise<unknown>): Promise<Outcome> {
  try {
    return (await call()) ? 'ALLOWED' : 'NotFound'
  } catch (error) {
    if (error instanceof NotAllowed) return 'NotAllowed'
    if (error instanceof NotFound) return 'NotFound'
    throw error instanceof DomainError ? new Error(`unexpected ${error.code}: ${error.message}`) : error
  }
}

describe.each(backends)('a verb, on $name', (backend) => {
  const world = useWorld(backend)
  let tenant: Tenant
  const prepared = new Map<boolean, Given>()
  let strangers = 0

  async function prepare(isOpen: boolean): Promise<Given> {
    const { deps } = world
    const [owner, guest] = [tenant.as('owner'), tenant.as('guest')]
    const key = `conversation ${isOpen}`
    const joined = (actor: string, more: object = {}) => ({ actor, ...more })
    const { conversation } = await domain.createConversation(deps, owner, {
      key,
      title: key,
      visibility: isOpen ? 'OPEN' : 'MEMBERS',
      participants: [
        joined('owner'),
        joined('admin', { administrator: true }),
        joined('deputy', { administrator: true }),
        ...['member', 'former', 'gone', 'quiet', 'bot'].map((actor) => joined(actor)),
        joined('guest', { metadata: { is: 'guest' } }),
      ],
    })
    const { id } = conversation
    const first = await tenant.append(id, 'owner', 'The harbour opens at noon.')
    const old = await tenant.append(id, 'guest', 'The harbour is closed.')
    const turn = { role: 'USER' as const, content: 'The harbour is closed on Mondays.' }
    const edited = await domain.supersedeTurn(deps, guest, { turnId: old.id, turn })
    const formerTurn = (await tenant.append(id, 'former', 'I saw the harbour.')).id
    const { id: contextId } = await domain.buildContext(deps, guest, { conversationId: id, store: true })
    await tenant.append(id, 'guest', 'It opens at noon.', { role: 'ASSISTANT', contextId })
    const open = { conversationId: id, turn: { role: 'USER' as const }, writerToken: WRITER }
    const formerOpen = (await domain.openTurn(deps, tenant.as('former'), open)).turn.id
    const summary = await domain.summarize(deps, owner, { conversationId: id, through: first.id })
    const { facts } = await domain.recordFacts(deps, guest, {
      conversationId: id,
      facts: [{ subject: 'the harbour', predicate: 'is', object: 'closed' }],
    })
    const { approvalIds } = await requestedApprovals(deps, tenant.name, id)
    const { run } = await runTurn(deps, guest, { conversationId: id, actor: 'guest' })
    for (const actor of ['former', 'gone']) {
      await domain.removeParticipant(deps, actor === 'gone' ? owner : tenant.as(actor), { conversationId: id, actor })
    }
    return {
      id,
      key,
      isOpen,
      older: old.id,
      newer: edited.turn.id,
      formerTurn,
      formerOpen,
      source: first.id,
      summary: summary.id,
      fact: facts[0]!.id,
      approval: approvalIds[0]!,
      run: run.id,
    }
  }

  beforeAll(async () => {
    tenant = world.tenant()
    for (const isOpen of [false, true]) prepared.set(isOpen, await prepare(isOpen))
    await domain.recordFacts(world.deps, tenant.as('guest'), {
      userId: 'elder',
      facts: [{ subject: 'elder', predicate: 'likes', object: 'boats' }],
    })
  })

  async function deletable({ relation, isOpen }: Standing): Promise<Given> {
    const visibility = isOpen ? ('OPEN' as const) : ('MEMBERS' as const)
    const participants = [
      { actor: 'owner' },
      { actor: 'admin', administrator: true },
      { actor: 'member' },
      { actor: 'former' },
    ]
    const { conversation } = await domain.createConversation(world.deps, tenant.as('owner'), {
      visibility,
      participants,
    })
    const { id } = conversation
    if (relation === 'FORMER') {
      await domain.removeParticipant(world.deps, tenant.as('former'), { conversationId: id, actor: 'former' })
    }
    return { ...prepared.get(isOpen)!, id }
  }

  /** Makes the call as an actor in that relation, with a credential that has the rights. */
  async function make(call: Call, standing: Standing, rights: ReadonlySet<Right>, more: Partial<Principal> = {}) {
    const actor = ACTORS[standing.relation] + (standing.relation === 'STRANGER' ? ++strangers : '')
    const principal: Principal = {
      tenant: tenant.name,
      actor,
      kind: 'HUMAN',
      rights,
      conversations: null,
      credential: 'key:test',
      expiresAt: null,
      ...more,
    }
    const viewer: Viewer = { ...tenant.as(actor), principal }
    const given = call === DELETE ? await deletable(standing) : prepared.get(standing.isOpen)!
    return outcomeOf(() => call.run({ deps: world.deps, viewer, relation: standing.relation, given }))
  }

  const labelOf = ({ verb, conditions = [] }: Call, { relation, isOpen }: Standing, rights: string) =>
    `${[verb, ...conditions].join(' ')}, ${relation} of ${isOpen ? 'OPEN' : 'MEMBERS'}, ${rights}`

  it('is allowed, refused or not found as the table states, for each right and relation', async () => {
    const cells = ALL_CALLS.flatMap((call) =>
      STANDINGS.flatMap((standing) => RIGHT_SETS.map((rights) => ({ call, standing, ...rights }))),
    )
    const seed = Date.now() % 2 ** 31
    const size = isExhaustive ? cells.length : Math.ceil(cells.length / (isLong ? 5 : 120))
    const [taken] = fc.sample(fc.shuffledSubarray(cells, { minLength: size, maxLength: size }), { seed, numRuns: 1 })
    const wrong: string[] = []
    for (const { call, standing, name, rights } of taken!) {
      const outcome = await make(call, standing, rights).catch((error: unknown) => String(error))
      const wanted = expected(call, standing, rights)
      if (outcome !== wanted) wrong.push(`${labelOf(call, standing, name)}: ${outcome}, not ${wanted}`)
    }
    expect(wrong, `${taken!.length} of ${cells.length} cells, seed ${seed}`).toEqual([])
  })

  it('has a call for each of its conditions, except for those that other tests check', () => {
    const called = new Set(ALL_CALLS.map(({ verb }) => verb))
    expect(Object.keys(VERBS).filter((verb) => !called.has(verb as never))).toEqual([])
    const parts = new Set(ALL_CALLS.flatMap(({ verb, conditions = [] }) => conditions.map((each) => `${verb} ${each}`)))
    const missing = Object.entries(VERBS).flatMap(([verb, { conditions = [] }]) =>
      conditions.map((each) => `${verb} ${each}`).filter((part) => !parts.has(part)),
    )
    // Other tests make these calls, for example those of participant-conditions and of facts.
    expect(missing).toEqual([
      'createConversation foreignKind',
      'addParticipant afterRemoval',
      'addParticipant history',
      'addParticipant ownKind',
      'addParticipant foreignKind',
      'addParticipant agentSettings',
      'supersedeTurn foreignActor',
      'runTurn tenantScope',
      'retractFact factsOfTenant',
      'undoReconciliation factsOfTenant',
    ])
  })

  it('needs `act-as` if the actor is not that of the credential', async () => {
    const rights = new Set(RIGHTS.filter((right) => right !== 'act-as'))
    for (const call of ALL_CALLS) {
      const outcome = await make(call, { relation: 'OWNER', isOpen: false }, rights, { actor: 'service' })
      expect(`${labelOf(call, STANDINGS[0]!, '')}${outcome}`).toMatch(/NotAllowed$/)
    }
  })

  it('is refused for another tenant than that of the credential', async () => {
    for (const call of ALL_CALLS) {
      const outcome = await make(call, { relation: 'OWNER', isOpen: false }, ALL_RIGHTS, { tenant: 'another' })
      expect(`${labelOf(call, STANDINGS[0]!, '')}${outcome}`).toMatch(/NotAllowed$/)
    }
  })

  it('finds nothing in other conversations than those to which a credential is limited', async () => {
    const standing: Standing = { relation: 'OWNER', isOpen: false }
    const elsewhere = new Set([prepared.get(true)!.id])
    const wrong: string[] = []
    // The short run makes every fifth call.
    for (const call of ALL_CALLS.filter((_, index) => isLong || index % 5 === 0)) {
      const { limited } = VERBS[call.verb]
      const concernsNone = call.concerns === 'NONE' && !TRANSFERS.has(call.verb)
      const isRefused = limited === 'NONE' || concernsNone
      const outside = await make(call, standing, ALL_RIGHTS, { conversations: elsewhere })
      if (outside !== (isRefused ? 'NotAllowed' : 'NotFound'))
        wrong.push(`outside: ${labelOf(call, standing, outside)}`)
      if (call === DELETE) continue
      const isWide = isRefused || call.conditions?.includes('tenantScope')
      const inside = await make(call, standing, ALL_RIGHTS, { conversations: new Set([prepared.get(false)!.id]) })
      if (inside !== (isWide ? 'NotAllowed' : 'ALLOWED')) wrong.push(`inside: ${labelOf(call, standing, inside)}`)
    }
    expect(wrong).toEqual([])
  })
})

describe('the relation of an actor', () => {
  const at = new Date()
  const present = { leftAt: null, administrator: false }
  it.each([
    ['OWNER', 'owner', 'MEMBERS', present],
    ['OWNER', 'owner', 'OPEN', null],
    ['STRANGER', 'owner', 'MEMBERS', null],
    ['FORMER', 'owner', 'OPEN', { leftAt: at, administrator: false }],
    ['ADMINISTRATOR', 'ada', 'OPEN', { leftAt: null, administrator: true }],
    ['PARTICIPANT', 'ada', 'OPEN', present],
    ['FORMER', 'ada', 'OPEN', { leftAt: at, administrator: true }],
    ['STRANGER', 'ada', 'OPEN', null],
  ] as const)('is %s for %s in %s with %j', (relation, actor, visibility, participant) => {
    expect(relationOf(actor, { owner: 'owner', visibility, participant })).toBe(relation)
  })
})
