// The writer of a streaming turn: only the client with the token that opened the turn may write, commit or abort it.
// The error of a rejected call reveals no turn that its viewer cannot see.

import { describe, expect, it } from 'vitest'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortSilentTurns, abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn, type OpenTurnInput } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound, StreamClosed } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { sql } from '../../../../support/sql.ts'

const MINE = 'the-token-of-the-writer'
const OTHER = 'another-token-entirely'

describe.each(backends)('the writer of a streaming turn on $name', (backend) => {
  const world = useWorld(backend)

  const open = (
    viewer: Viewer,
    conversationId: string,
    turn: Partial<OpenTurnInput['turn']> = {},
    writerToken = MINE,
  ) =>
    openTurn(world.deps, viewer, { conversationId, turn: { role: 'ASSISTANT', ...turn }, writerToken }).then(
      ({ turn }) => turn,
    )

  /** All calls on the streaming turn, with a token. */
  const calls = (viewer: Viewer, turnId: string, writerToken: string) => ({
    appendDelta: () => appendDelta(world.deps, viewer, { turnId, writerToken, text: 'x' }),
    heartbeat: () => appendDelta(world.deps, viewer, { turnId, writerToken, text: '' }),
    commitTurn: () => commitTurn(world.deps, viewer, { turnId, writerToken }),
    abortTurn: () => abortTurn(world.deps, viewer, { turnId, writerToken }),
  })
  /** The error of each call, as its class and text without the id. */
  const errors = async (viewer: Viewer, turnId: string, token: string) => {
    const found: string[] = []
    for (const call of Object.values(calls(viewer, turnId, token))) {
      const error = await call().then(
        () => null,
        (reason: Error) => reason,
      )
      found.push(error ? `${error.constructor.name} ${error.message.replaceAll(turnId, '…')}` : 'none')
    }
    return found
  }
  const stored = async (tenant: Tenant, actor: string, turnId: string) =>
    (await getTurns(world.deps, tenant.as(actor), [turnId])).get(turnId)!

  it('is rejected with NotAllowed if its token differs, and the turn does not change', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bot', 'ann')
    const { id } = await open(tenant.as('bot'), conversationId)
    await calls(tenant.as('bot'), id, MINE).appendDelta()
    for (const actor of ['bot', 'ann']) {
      for (const call of Object.values(calls(tenant.as(actor), id, OTHER))) {
        await expect(call()).rejects.toThrow(NotAllowed)
      }
    }
    expect(await stored(tenant, 'ann', id)).toMatchObject({ status: 'STREAMING', text: 'x' })
    expect((await calls(tenant.as('bot'), id, MINE).commitTurn()).text).toBe('x')
  })

  it('does not share a chunk with deltas of another token that wait at the same time', async () => {
    const tenant = world.tenant()
    const { id: turnId } = await open(tenant.as('bot'), await tenant.newConversation('bot'))
    const sent = await Promise.allSettled(
      [MINE, OTHER, MINE].map((writerToken, n) =>
        appendDelta(world.deps, tenant.as('bot'), { turnId, writerToken, text: `${n}` }),
      ),
    )
    expect(sent.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await stored(tenant, 'bot', turnId)).text).toBe('02')
  })

  it('gets the same errors for a private turn that it cannot see as for an unknown turn', async () => {
    const [tenant, stranger] = [world.tenant(), world.tenant()]
    const conversationId = await tenant.newConversation('bot', 'ann', 'eve')
    const { id } = await open(tenant.as('bot'), conversationId, { audience: ['ann'] })
    const unknown = await errors(tenant.as('eve'), `turn_${'0'.repeat(26)}`, OTHER)
    expect(new Set(unknown)).toEqual(new Set(['NotFound There is no turn "…" that you can see.']))
    expect(await errors(tenant.as('eve'), id, OTHER)).toEqual(unknown)
    expect(await errors(stranger.as('bot'), id, MINE)).toEqual(unknown)
    await calls(tenant.as('bot'), id, MINE).abortTurn()
    expect(await errors(tenant.as('eve'), id, OTHER)).toEqual(unknown)
    await expect(calls(tenant.as('ann'), id, OTHER).commitTurn()).rejects.toThrow(StreamClosed)
  })

  it('gets the same turn for the same clientId and token, open or not, and Conflict for another token', async () => {
    const tenant = world.tenant()
    const [bot, conversationId] = [tenant.as('bot'), await tenant.newConversation('bot')]
    const { id } = await open(bot, conversationId, { clientId: 'k' })
    expect((await open(bot, conversationId, { clientId: 'k' })).id).toBe(id)
    await expect(open(bot, conversationId, { clientId: 'k' }, OTHER)).rejects.toThrow(Conflict)
    await calls(bot, id, MINE).appendDelta()
    await calls(bot, id, MINE).commitTurn()
    expect(await open(bot, conversationId, { clientId: 'k' })).toMatchObject({ id, status: 'COMMITTED' })
    await expect(open(bot, conversationId, { clientId: 'k' }, OTHER)).rejects.toThrow(Conflict)
  })

  it('cannot continue after its author has left the conversation; the expired lease ends the turn', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bot', 'ann')
    const { id } = await open(tenant.as('bot'), conversationId)
    await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bot' })
    for (const call of Object.values(calls(tenant.as('bot'), id, MINE)))
      await expect(call()).rejects.toThrow('has left')
    await sql(world.deps.pool).query(`UPDATE stream SET renewed_at = now() - interval '1 hour'`)
    expect(await abortSilentTurns(world.deps)).toBe(1)
    expect(await stored(tenant, 'ann', id)).toMatchObject({ status: 'ABORTED' })
  })

  it('must have a token of 16 to 200 characters, of which only a hash is stored', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bot')
    for (const token of ['', 'x'.repeat(15), 'x'.repeat(201), `${'x'.repeat(20)}\0`]) {
      await expect(open(tenant.as('bot'), conversationId, {}, token)).rejects.toThrow(InvalidInput)
      await expect(calls(tenant.as('bot'), `turn_${'0'.repeat(26)}`, token).appendDelta()).rejects.toThrow(InvalidInput)
    }
    const { id } = await open(tenant.as('bot'), conversationId, { clientId: 'k' })
    const { rows } = await sql(world.deps.pool).query(
      'SELECT to_jsonb(s) || to_jsonb(t) AS row FROM stream s JOIN turn t ON t.id = s.turn_id WHERE t.id = $1',
      [id],
    )
    expect(JSON.stringify(rows)).toContain('"writer_hash":"')
    expect(JSON.stringify(rows)).not.toContain(MINE)
  })

  it('cannot continue a stream opened before writer tokens existed; only its expired lease ends it', async () => {
    const tenant = world.tenant()
    const { id } = await open(tenant.as('bot'), await tenant.newConversation('bot'))
    await sql(world.deps.pool).query(
      `UPDATE stream SET writer_hash = '', renewed_at = now() - interval '1 hour' WHERE turn_id = $1`,
      [id],
    )
    await expect(calls(tenant.as('bot'), id, MINE).appendDelta()).rejects.toThrow(NotAllowed)
    expect(await abortSilentTurns(world.deps)).toBe(1)
  })

  it('gets NotFound for an unknown turn id', async () => {
    await expect(calls(world.tenant().as('bot'), `turn_${'0'.repeat(26)}`, MINE).commitTurn()).rejects.toThrow(NotFound)
  })
})
