// Two replicas of an agent open a turn with the same clientId: one of them writes it, and the other gets a Conflict
// that names the writer.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortSilentTurns, abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns, type Turn } from '../../../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { Conflict, NotAllowed } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { sql } from '../../../../support/sql.ts'

describe.each(backends)('a streaming turn with a clientId, on $name', (backend) => {
  let site: Site
  let processes: Process[]
  beforeAll(async () => {
    site = await openSite(backend)
    processes = [await site.start(), await site.start()]
  })
  afterAll(() => site.close())

  /** Creates a conversation, and two replicas of "bot", each with a process and a token of its own. */
  const start = async () => {
    const viewer = newViewer('ann')
    const { deps } = processes[0]!
    const conversationId = (await createConversation(deps, viewer, { participants: [{ actor: 'bot' }] })).conversation
      .id
    const replicas = processes.map(({ deps: own }, n) => {
      const writerToken = `the-token-of-replica-${n}`
      const as: Viewer = { ...viewer, actor: `replica-${n}` }
      return {
        open: async (clientId: string, model?: string) =>
          (
            await openTurn(own, as, {
              conversationId,
              turn: { actor: 'bot', role: 'ASSISTANT', clientId, model },
              writerToken,
            })
          ).turn,
        write: (turnId: string, text: string) => appendDelta(own, as, { turnId, writerToken, text }),
        commit: (turnId: string) => commitTurn(own, as, { turnId, writerToken }),
        abort: (turnId: string) => abortTurn(own, as, { turnId, writerToken }),
      }
    })
    const stored = async (id: string) => (await getTurns(deps, viewer, [id])).get(id)!
    return { deps, viewer, conversationId, replicas: replicas as [Replica, Replica], stored }
  }
  type Replica = {
    open(clientId: string, model?: string): Promise<Turn>
    write(turnId: string, text: string): Promise<unknown>
    commit(turnId: string): Promise<Turn>
    abort(turnId: string): Promise<Turn>
  }

  it('is opened by one of two replicas, and each of five mentions is answered once', async () => {
    const { replicas, stored } = await start()
    let answered = 0
    for (let mention = 0; mention < 5; mention++) {
      const opened = await Promise.allSettled(replicas.map((replica) => replica.open(`reply-${mention}`)))
      const winner = opened.findIndex(({ status }) => status === 'fulfilled')
      const { id } = (opened[winner] as PromiseFulfilledResult<Turn>).value
      const { reason } = opened[1 - winner] as PromiseRejectedResult
      expect(reason).toBeInstanceOf(Conflict)
      expect(reason.message).toBe(
        `clientId "reply-${mention}" is in use by another writer: "replica-${winner}" opened turn ${id} with it and is `
          + 'still writing. Follow that turn. If it is aborted, the clientId can be used again.',
      )
      // A replica that cleans up after its Conflict cannot abort the turn of the other.
      await expect(replicas[1 - winner]!.abort(id)).rejects.toThrow(NotAllowed)
      await replicas[winner]!.write(id, 'Here.')
      await replicas[winner]!.commit(id)
      if ((await stored(id)).status === 'COMMITTED') answered += 1
    }
    expect(answered).toBe(5)
  })

  it('stays with its writer, who gets the same turn again, and is not reopened after its commit', async () => {
    const { replicas, deps, viewer, conversationId } = await start()
    const [one, other] = replicas
    const { id } = await one.open('k')
    expect((await one.open('k')).id).toBe(id)
    await expect(one.open('k', 'other-model')).rejects.toThrow(`turn ${id}, which is STREAMING, with different content`)
    const turn = { actor: 'bot', role: 'ASSISTANT' as const, content: 'x', clientId: 'k' }
    await expect(appendTurn(deps, viewer, { conversationId, turn })).rejects.toThrow(
      'in use by another writer: "replica-0"',
    )
    await one.write(id, 'x')
    await one.commit(id)
    expect(await one.open('k')).toMatchObject({ id, status: 'COMMITTED' })
    await expect(other.open('k')).rejects.toThrow(
      `already used for turn ${id}, which is COMMITTED, with different content or by another writer.`,
    )
  })

  it('frees its clientId when it is aborted, by its writer or by the expired lease', async () => {
    const { replicas, stored, deps } = await start()
    const [one, other] = replicas
    const first = await one.open('k')
    const aborted = await one.abort(first.id)
    const second = await other.open('k')
    expect(second.id).not.toBe(first.id)
    await sql(deps.pool).query(`UPDATE stream SET renewed_at = now() - interval '1 hour' WHERE turn_id = $1`, [
      second.id,
    ])
    await abortSilentTurns(deps)
    const opened = await Promise.allSettled(replicas.map((replica) => replica.open('k')))
    expect(opened.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await one.abort(first.id)).toEqual(aborted)
    expect(await stored(second.id)).toMatchObject({ status: 'ABORTED' })
  })
})
