// Newer versions that are streamed: what they take back when they are opened, and that everything which follows the
// journal treats them as edits.

import { describe, expect, it, vi } from 'vitest'
import { updateConversation } from '../../../../src/domain/conversation/conversation.ts'
import { markRead } from '../../../../src/domain/conversation/participant/participant.ts'
import { asOf } from '../../../../src/domain/memory/as-of.ts'
import { buildContext } from '../../../../src/domain/memory/context/build.ts'
import { extractFacts } from '../../../../src/domain/memory/fact/extract/extract.ts'
import { getFactPage } from '../../../../src/domain/memory/fact/fact.ts'
import { recall } from '../../../../src/domain/memory/recall/recall.ts'
import { compact } from '../../../../src/domain/memory/summary/compact.ts'
import { getCoveringSummaries } from '../../../../src/domain/memory/summary/summary.ts'
import { eraseTurn } from '../../../../src/domain/trust/erasure/erase-turn.ts'
import { openTurn } from '../../../../src/domain/turn/append/append.ts'
import { APPEND_LIMITS } from '../../../../src/domain/turn/append/append-refusal.ts'
import { countOfTurns, history } from '../../../../src/domain/turn/history.ts'
import { reasonsFor } from '../../../../src/domain/turn/journal/inboxes.ts'
import { readEvents } from '../../../../src/domain/turn/journal/journal-page.ts'
import { openVersion } from '../../../../src/domain/turn/open-version.ts'
import { appendDelta } from '../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { supersedeTurn } from '../../../../src/domain/turn/supersede.ts'
import { getTurns, type Turn } from '../../../../src/domain/turn/turn.ts'
import { Conflict, LimitReached } from '../../../../src/errors.ts'
import { countUnread, participantKey } from '../../../../src/store/sql/turn/count-turns.ts'
import { readUnembedded } from '../../../../src/store/sql/memory/indexing/read-unembedded.ts'
import { readDueAgentsAmong, readDueWakeUp } from '../../../../src/store/sql/agent/wake-up/due-wake-ups.ts'
import { backends } from '../../../support/backend.ts'
import { expectCovering } from '../../../support/covering.ts'
import { read, textOf } from '../../../support/reading.ts'
import { sql } from '../../../support/sql.ts'
import { exportLines, importLines } from '../../../support/transfer.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'
import { WRITER } from '../../../support/writer.ts'

const writerToken = WRITER

describe.each(backends)('an open version on $name', (backend) => {
  const world = useWorld(backend)
  const redacting = useWorld(backend, { redact: 'turns' })

  const open = (tenant: Tenant, { id, actor }: Turn, { deps } = world) =>
    openVersion(deps, tenant.as(actor), {
      supersedes: id,
      turn: { role: 'ASSISTANT', metadata: null },
      ...{ writerToken, leaseSeconds: null },
    })
  const write = (tenant: Tenant, { id, actor }: Turn, text: string, { deps } = world) =>
    appendDelta(deps, tenant.as(actor), { turnId: id, writerToken, text })
  const commit = (tenant: Tenant, { id, actor }: Turn, { deps } = world) =>
    commitTurn(deps, tenant.as(actor), { turnId: id, writerToken })
  const abort = (tenant: Tenant, { id, actor }: Turn) =>
    abortTurn(world.deps, tenant.as(actor), { turnId: id, writerToken })
  async function rewrite(tenant: Tenant, older: Turn, text: string) {
    const newer = await open(tenant, older)
    await write(tenant, newer, text)
    return commit(tenant, newer)
  }
  const countIn = async (tenant: Tenant, conversationId: string) =>
    (await countOfTurns(world.deps, tenant.as('ann'), [conversationId])).get(conversationId)!.turnCount
  const turnsIn = async (tenant: Tenant, conversationId: string, deps = world.deps) =>
    (await history(deps, tenant.as('ann'), [conversationId], {})).get(conversationId)!
  const reply = (tenant: Tenant, conversationId: string, content: string, more: object = {}) =>
    tenant.append(conversationId, 'bot', content, { role: 'ASSISTANT', ...more })

  it('is announced when it is opened, and makes its author present', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const older = await reply(tenant, conversationId, 'In Hull.')
    const publish = vi.spyOn(world.deps.bus, 'publish')
    const wrote = vi.spyOn(world.deps.writers, 'wrote')
    const { seq } = await open(tenant, older)
    const announced = publish.mock.calls.map(([, message]) => JSON.parse(message) as { type: string; seq?: number })
    expect(announced).toContainEqual(expect.objectContaining({ type: 'entries', seq }))
    expect(wrote).toHaveBeenCalledWith(tenant.as('bot'), conversationId)
    publish.mockRestore()
    wrote.mockRestore()
  })

  it('is the newest version, keeps what all versions share, and cannot be superseded', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const question = await tenant.append(conversationId, 'ann', 'Where?')
    const more = { pinned: true, replyToId: question.id, metadata: { rating: -1 }, model: 'm-1' }
    const older = await reply(tenant, conversationId, 'In Hull.', more)
    const newer = await open(tenant, older)
    expect(newer).toMatchObject({ status: 'STREAMING', position: older.position, pinned: true, replyToId: question.id })
    expect(newer).toMatchObject({ metadata: null, text: '', tokenCount: 0, model: 'm-1' })
    await write(tenant, newer, 'In Y')
    expect((await turnsIn(tenant, conversationId)).map(({ text }) => text)).toEqual(['Where?', 'In Y'])
    await expect(open(tenant, newer)).rejects.toThrow('is still open')
    const edit = { turnId: newer.id, turn: { role: 'ASSISTANT' as const, content: 'x' } }
    await expect(supersedeTurn(world.deps, tenant.as('bot'), edit)).rejects.toThrow(Conflict)
    await expect(open(tenant, older)).rejects.toThrow('Supersede the newest version')
  })

  it('takes back the summaries of the older version, and no summary passes it while it is open', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    await tenant.append(conversationId, 'ann', 'Where is it?')
    const older = await reply(tenant, conversationId, 'In Hull.')
    for (let n = 0; n < 4; n++) await tenant.append(conversationId, 'ann', `And ${n}?`)
    const compactNow = () => compact(world.deps, tenant.as('ann'), { conversationId, policy: { triggerTurns: 1 } })
    await compactNow()
    const through = async () =>
      (await getCoveringSummaries(world.deps, tenant.as('ann'), conversationId)).at(-1)?.toPosition ?? 0
    expect(await through()).toBeGreaterThan(older.position)
    const newer = await open(tenant, older)
    expect(await through()).toBe(0)
    await compactNow()
    expect(await through()).toBeLessThan(older.position)
    await expectCovering(world.deps, conversationId)
    await write(tenant, newer, 'In York.')
    await commit(tenant, newer)
    await compactNow()
    expect(await through()).toBeGreaterThan(older.position)
    await expectCovering(world.deps, conversationId)
    const again = await open(tenant, await turnAt(tenant, conversationId, older.position))
    await abort(tenant, again)
    await compactNow()
    expect(await through()).toBeGreaterThan(older.position)
    await expectCovering(world.deps, conversationId)
    expect(await countIn(tenant, conversationId)).toBe(5)
  })

  const turnAt = async (tenant: Tenant, conversationId: string, position: number) =>
    (await turnsIn(tenant, conversationId)).find((turn) => turn.position === position)!

  it('supersedes the facts of the older version, and its own are extracted once, when it is committed', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation({ actor: 'ann', displayName: 'Ann', kind: 'HUMAN' })
    const asked: string[][] = []
    const { extractor } = world.deps.factServices
    const factServices: typeof world.deps.factServices = {
      ...world.deps.factServices,
      extractor: {
        ...extractor,
        extract: (turns, ...more) => {
          asked.push(turns.map(({ text }) => text))
          return extractor.extract(turns, ...more)
        },
      },
    }
    const extract = () => extractFacts({ ...world.deps, factServices }, tenant.as('ann'), { conversationId })
    const facts = async () => (await getFactPage(world.deps, tenant.as('ann'), {})).items.map(({ object }) => object)
    const older = await tenant.append(conversationId, 'ann', 'I live in Rome.')
    await extract()
    expect(await facts()).toEqual(['Rome'])
    const newer = await open(tenant, older)
    expect(await facts()).toEqual([])
    await write(tenant, newer, 'I live in Oslo.')
    await extract()
    expect(await facts()).toEqual([])
    await commit(tenant, newer)
    await extract()
    expect(await facts()).toEqual(['Oslo'])
    // Opened and committed between two extractions.
    await rewrite(tenant, await turnAt(tenant, conversationId, older.position), 'I live in Bergen.')
    await extract()
    expect(await facts()).toEqual(['Bergen'])
    expect(asked).toEqual([['I live in Rome.'], ['I live in Oslo.'], ['I live in Bergen.']])
  })

  it('that repeats the facts of the older version has them, also if an agent states them', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation({ actor: 'ann', kind: 'HUMAN' }, 'bot')
    const extract = () => extractFacts(world.deps, tenant.as('ann'), { conversationId })
    const facts = async () => (await getFactPage(world.deps, tenant.as('ann'), {})).items.map(({ object }) => object)
    const older = await reply(tenant, conversationId, 'I live in Rome.')
    await extract()
    expect(await facts()).toEqual(['Rome'])
    await rewrite(tenant, older, 'I live in Rome.')
    expect(await facts()).toEqual([])
    await extract()
    expect(await facts()).toEqual(['Rome'])
  })

  it('is not opened if the check in its transaction fails', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const older = await reply(tenant, conversationId, 'In Hull.')
    const last = await tenant.lastSeq(conversationId)
    const check = async () => {
      throw new Error('The run has ended.')
    }
    const opening = {
      supersedes: older.id,
      turn: { role: 'ASSISTANT' as const },
      writerToken,
      leaseSeconds: null,
      check,
    }
    await expect(openVersion(world.deps, tenant.as('bot'), opening)).rejects.toThrow('The run has ended.')
    expect(await turnsIn(tenant, conversationId)).toEqual([older])
    expect(await tenant.lastSeq(conversationId)).toBe(last)
  })

  it('keeps the wake-ups of the turn until it is closed', async () => {
    const tenant = world.tenant()
    const settings = { respond: 'ALWAYS' as const, agent: { provider: 'echo' } }
    const conversationId = await tenant.newConversation('ann', 'bot', { actor: 'fern', ...settings })
    const older = await reply(tenant, conversationId, 'In Hull.')
    const due = () => readDueAgentsAmong(world.deps.db, [conversationId])
    expect(await due()).toHaveLength(1)
    const newer = await open(tenant, older)
    expect(await due()).toEqual([])
    await write(tenant, newer, 'In York.')
    await commit(tenant, newer)
    const agent = { conversationId, actor: 'fern' }
    expect(await readDueWakeUp(world.deps.db, tenant.name, agent, 1)).toMatchObject({ newestId: newer.id })
  })

  it('is embedded once, when it is committed, and found instead of the older version', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const older = await reply(tenant, conversationId, 'The harbour is in Hull.')
    const found = async () =>
      (await recall(world.deps, tenant.as('ann'), { conversationId, query: 'harbour', kinds: ['TURN'] })).hits.map(
        ({ memory }) => memory.kind === 'TURN' && memory.turn.text,
      )
    const unembedded = async () => (await readUnembedded(world.deps.pool, 'none', [conversationId], 100))[0]!.turns
    expect(await found()).toEqual(['The harbour is in Hull.'])
    const newer = await open(tenant, older)
    await write(tenant, newer, 'The harbour is in York.')
    expect(await found()).toEqual([])
    expect((await unembedded()).map(({ seq }) => seq)).toEqual([older.seq])
    await commit(tenant, newer)
    expect(await found()).toEqual(['The harbour is in York.'])
    expect((await unembedded()).map(({ seq }) => seq)).toEqual([older.seq, newer.seq])
  })

  it('is left out of contexts while it is open, and so is the older version', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    await tenant.append(conversationId, 'ann', 'Where?')
    const older = await reply(tenant, conversationId, 'In Hull.', { pinned: true })
    await tenant.append(conversationId, 'ann', 'And then?')
    const context = async () => {
      const input = { conversationId, as: 'bot', tokenBudget: 1_000 }
      return (await buildContext(world.deps, tenant.as('bot'), input)).messages.map(({ content }) => content)
    }
    const newer = await open(tenant, older)
    await write(tenant, newer, 'In York.')
    expect(await context()).toEqual(['Where?', 'And then?'])
    await commit(tenant, newer)
    expect(await context()).toEqual(['Where?', 'In York.', 'And then?'])
  })

  it('wakes up nobody, and does not count for the loop guard', async () => {
    const tenant = world.tenant()
    const cat = { actor: 'cat', kind: 'AGENT' as const, respond: 'ALWAYS' as const }
    const conversationId = await tenant.newConversation('ann', { actor: 'bot', kind: 'AGENT' }, cat)
    await updateConversation(world.deps, tenant.as('owner'), { conversationId, maxAgentTurns: 1 })
    const older = await reply(tenant, conversationId, 'In Hull.')
    const state = async () => {
      const { rows } = await sql(world.deps.pool).query(
        `SELECT j.agent_turns, ARRAY(SELECT w.turn_id FROM wake_up w WHERE w.conversation_id = $1) AS woken,
                ARRAY(SELECT e.kind::text FROM entry e WHERE e.conversation_id = $1 AND e.kind = 'WAKE_UPS_STOPPED') AS stopped
         FROM journal j WHERE j.conversation_id = $1`,
        [conversationId],
      )
      return rows[0]
    }
    const before = await state()
    expect(before).toEqual({ agent_turns: 1, woken: [older.id], stopped: [] })
    const second = await rewrite(tenant, older, 'In York, @cat.')
    await rewrite(tenant, second, 'In Leeds, @cat.')
    expect(await state()).toEqual(before)
  })

  it('answers the wake-up of its author that an aborted reply has left', async () => {
    const tenant = world.tenant()
    const bot = { actor: 'bot', kind: 'AGENT' as const, respond: 'ALWAYS' as const }
    const conversationId = await tenant.newConversation({ actor: 'ann', kind: 'HUMAN' }, bot)
    const question = await tenant.append(conversationId, 'ann', 'Where?')
    const turn = { role: 'ASSISTANT' as const, replyToId: question.id }
    const { turn: failed } = await openTurn(world.deps, tenant.as('bot'), { conversationId, turn, writerToken })
    await abort(tenant, failed)
    const newer = await rewrite(tenant, failed, 'In York.')
    const { rows } = await sql(world.deps.pool).query(`SELECT answer_id FROM wake_up WHERE conversation_id = $1`, [
      conversationId,
    ])
    expect(rows).toEqual([{ answer_id: newer.id }])
  })

  it('is not unread for those who have read the turn, and changes their inbox as an edit does', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const older = await reply(tenant, conversationId, 'In Hull.')
    const ann = tenant.as('ann')
    const unread = async () => {
      const found = await countUnread(world.deps.pool, ann, [{ conversationId, actor: 'ann' }], 10)
      return found.get(participantKey(conversationId, 'ann'))
    }
    expect(await unread()).toBe(1)
    await markRead(world.deps, ann, { conversationId, seq: older.seq })
    await rewrite(tenant, older, 'In York.')
    expect(await unread()).toBe(0)
    const events = await readEvents(world.deps, tenant.name, conversationId, { after: older.seq, limit: 10 })
    expect([...reasonsFor(events.events, { actor: 'ann', windows: [1], addressed: false }).keys()]).toEqual(['UPDATED'])
  })

  it('counts towards the open turns of a conversation', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const older = await reply(tenant, conversationId, 'In Hull.')
    const turn = { role: 'ASSISTANT' as const }
    for (let n = 0; n < APPEND_LIMITS.openInConversation; n++) {
      await openTurn(world.deps, tenant.as('ann'), { conversationId, turn, writerToken })
    }
    const last = await tenant.lastSeq(conversationId)
    await expect(open(tenant, older)).rejects.toThrow(LimitReached)
    expect(await tenant.lastSeq(conversationId)).toBe(last)
    expect((await getTurns(world.deps, tenant.as('ann'), [older.id])).get(older.id)!.supersededBy).toBeNull()
  })

  it('was open in the past, with the older version as its previous one', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const older = await reply(tenant, conversationId, 'In Hull.')
    const newer = await open(tenant, older)
    await write(tenant, newer, 'In York.')
    await commit(tenant, newer)
    const at = async (seq: number) => {
      const past = await asOf(world.deps, tenant.as('ann'), { asOf: { seq }, conversationId })
      return (await turnsIn(tenant, conversationId, past)).map(({ id, status, text }) => [id, status, text])
    }
    expect(await at(older.seq)).toEqual([[older.id, 'COMMITTED', 'In Hull.']])
    expect(await at(newer.seq)).toEqual([[newer.id, 'STREAMING', '']])
    expect(await at(newer.seq + 1)).toEqual([[newer.id, 'COMMITTED', 'In York.']])
    const edited = await reply(tenant, conversationId, 'v1')
    const { turn: edit } = await supersedeTurn(world.deps, tenant.as('bot'), {
      turnId: edited.id,
      turn: { role: 'ASSISTANT', content: 'v2' },
    })
    expect((await at(edit.seq)).at(-1)).toEqual([edit.id, 'COMMITTED', 'v2'])
  })

  it('is erased with all versions, and its writer can no longer commit it', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const older = await reply(tenant, conversationId, 'In Hull.')
    const newer = await open(tenant, older)
    await write(tenant, newer, 'In York.')
    const reading = await read(world.deps, tenant.as('ann'), { conversationId })
    await reading.until('the text so far', () => textOf(reading, newer.id) === 'In York.')
    await eraseTurn(world.deps, tenant.as('owner'), { turnId: older.id })
    await expect(commit(tenant, newer)).rejects.toThrow('ERASED')
    await reading.until('both events', ({ events }) => events.filter(({ type }) => type === 'TurnErased').length === 2)
    expect((await turnsIn(tenant, conversationId)).map(({ status, text }) => [status, text])).toEqual([['ERASED', '']])
    expect(await countIn(tenant, conversationId)).toBe(0)
    await reading.stop()
  })

  it('is exported and imported: committed as it is, and open as an aborted one', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    await rewrite(tenant, await reply(tenant, conversationId, 'In Hull.'), 'In York.')
    const newer = await open(tenant, await reply(tenant, conversationId, 'On the sea.'))
    await write(tenant, newer, 'On the riv')
    const lines = await exportLines(world.deps, tenant.as('owner'), { scope: 'CONVERSATION', conversationId })
    const target = redacting.tenant()
    const { state } = await importLines(redacting.deps, target.as('owner'), lines)
    expect(state).toBe('COMPLETED')
    const found = await turnsIn(target, conversationId, redacting.deps)
    expect(found.map(({ text, status }) => [text, status])).toEqual([
      ['In York.', 'COMMITTED'],
      ['On the riv', 'ABORTED'],
    ])
    const unembedded = await readUnembedded(redacting.deps.pool, 'none', [conversationId], 100)
    expect(unembedded[0]!.turns.map(({ text }) => text)).toEqual(['In Hull.', 'In York.', 'On the sea.'])
  })

  it('holds back text that may be personal data', async () => {
    const tenant = redacting.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot')
    const newer = await open(tenant, await reply(tenant, conversationId, 'In Hull.'), redacting)
    await write(tenant, newer, 'Write to ada@exam', redacting)
    await write(tenant, newer, 'ple.org today.', redacting)
    expect((await commit(tenant, newer, redacting)).text).toBe('Write to [EMAIL] today.')
  })
})
