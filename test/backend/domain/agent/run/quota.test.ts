// Quotas: the tokens that a participant and a tenant may use per day, and the counting of tokens.

import { beforeEach, describe, expect, it } from 'vitest'
import { QuotaExceeded } from '../../../../../src/errors.ts'
import { cancelRun } from '../../../../../src/domain/agent/run/cancel.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { endAbandonedCalls, endLostRuns } from '../../../../../src/domain/agent/run/sweep.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { history } from '../../../../../src/domain/turn/history.ts'
import { updateTenantSettings } from '../../../../../src/domain/conversation/tenant-settings.ts'
import { ProviderCallFailed } from '../../../../../src/providers/ports/provider-adapter.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider, gate, type Script } from '../../../../support/scripted-provider.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const call = { id: 'c', name: 'noop', arguments: {} }

describe.each(backends)('quotas on $name', (backend) => {
  const provider = createScriptedProvider({ inputTokens: 10, outputTokens: 5 })
  const tools = [{ name: 'noop', execute: () => 'done' }]
  const world = useWorld(backend, { providers: { scripted: provider }, tools })
  let tenant: Tenant
  beforeEach(() => {
    provider.reset()
    tenant = world.tenant()
  })
  const newConversation = (tokensPerDay: number | null) =>
    tenant.newConversation('ada', {
      actor: 'bot',
      kind: 'AGENT',
      agent: { provider: 'scripted', ...(tokensPerDay === null ? null : { tokensPerDay }) },
    })
  const ask = (conversationId: string) =>
    runTurn(world.deps, tenant.as('ada'), { conversationId, actor: 'bot', turns: [{ role: 'USER', content: 'Who?' }] })

  it('refuse a run of a participant that has used its tokens, and write nothing', async () => {
    const conversationId = await newConversation(20)
    await ask(conversationId)
    await ask(conversationId)
    const before = await tenant.lastSeq(conversationId)
    const error = await ask(conversationId).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(QuotaExceeded)
    expect(error).toMatchObject({ limit: 20, used: 30 })
    expect((error as QuotaExceeded).resetsAt.getTime()).toBeGreaterThan(Date.now())
    expect(await tenant.lastSeq(conversationId)).toBe(before)
    // The quota is that of the participant in one conversation.
    expect((await ask(await newConversation(20))).run.state).toBe('COMPLETED')
  })

  it('of the tenant apply to all conversations together, deleted ones included', async () => {
    await updateTenantSettings(world.deps, tenant.as('owner'), { tokensPerDay: 15 })
    const conversationId = await newConversation(null)
    await ask(conversationId)
    await deleteConversation(world.deps, tenant.as('owner'), conversationId)
    await expect(ask(await newConversation(null))).rejects.toThrow(QuotaExceeded)
    await updateTenantSettings(world.deps, tenant.as('owner'), { tokensPerDay: null })
    expect((await ask(await newConversation(null))).run.state).toBe('COMPLETED')
  })

  it('end a run between two calls', async () => {
    provider.next([call])
    const { run } = await ask(await newConversation(15))
    expect(run).toMatchObject({ state: 'FAILED', errorCode: 'QUOTA_EXCEEDED', round: 1 })
  })

  describe('count the tokens of a call', () => {
    const callOf = async (runId: string) =>
      (
        await sql(world.deps.pool).query(
          `SELECT c.prompt_tokens AS prompt, c.completion_tokens AS completion, c.is_estimated AS "isEstimated",
                  c.error_code AS "errorCode", c.ended_at IS NOT NULL AS "hasEnded", r.prompt_tokens::integer AS "ofRun",
                  (SELECT (u.prompt_tokens + u.completion_tokens)::integer FROM token_usage u
                   WHERE u.conversation_id = r.conversation_id) AS "ofParticipant",
                  (SELECT (u.prompt_tokens + u.completion_tokens)::integer FROM tenant_usage u WHERE u.tenant = r.tenant) AS "ofTenant"
           FROM run r JOIN provider_call c ON c.run_id = r.id WHERE r.id = $1`,
          [runId],
        )
      ).rows[0]
    const begin = async (...steps: Script) => {
      const { pause, open } = gate()
      provider.next([...steps, pause])
      const conversationId = await newConversation(15)
      const input = {
        conversationId,
        actor: 'bot',
        turns: [{ role: 'USER' as const, content: 'Who is it?' }],
        wait: false,
      }
      const { run } = await runTurn(world.deps, tenant.as('ada'), input)
      await expect.poll(() => provider.asked.length).toBe(1)
      return { runId: run.id, conversationId, open }
    }
    const stored = async (conversationId: string, length: number) => {
      const read = async () =>
        (await history(world.deps, tenant.as('ada'), [conversationId], {})).get(conversationId)!.at(-1)?.text.length
      await expect.poll(read).toBe(length)
    }
    /** Makes the run look as if its process had died. */
    const die = (runId: string, more = '') =>
      sql(world.deps.pool).query(
        `UPDATE run SET holder = 'dead', lease_until = now() - interval '1 s' ${more} WHERE id = $1`,
        [runId],
      )

    it('whose process has died, as an estimate of the prompt and of the stored text', async () => {
      const { runId, conversationId } = await begin('one two three')
      await stored(conversationId, 13)
      expect(await callOf(runId)).toMatchObject({ prompt: expect.any(Number), ofRun: 0, ofTenant: null })
      await die(runId)
      await endLostRuns(world.deps)
      await endLostRuns(world.deps)
      const ended = await callOf(runId)
      expect(ended).toMatchObject({ isEstimated: true, errorCode: 'INTERRUPTED', hasEnded: true, completion: 3 })
      expect(ended.prompt).toBeGreaterThan(3)
      const { prompt, completion } = ended
      expect(ended).toMatchObject({ ofRun: prompt, ofParticipant: prompt + completion, ofTenant: prompt + completion })
      if (prompt + completion >= 15) await expect(ask(conversationId)).rejects.toThrow(QuotaExceeded)
    })

    it('whose process died after the commit, as the provider reported them', async () => {
      const conversationId = await newConversation(null)
      const { run } = await ask(conversationId)
      await sql(world.deps.pool).query(
        'UPDATE provider_call SET ended_at = NULL, prompt_tokens = 99 WHERE run_id = $1',
        [run.id],
      )
      await sql(world.deps.pool).query('UPDATE run SET prompt_tokens = 0, completion_tokens = 0 WHERE id = $1', [
        run.id,
      ])
      await die(run.id, `, state = 'RUNNING', ended_at = NULL`)
      await endLostRuns(world.deps)
      expect(await callOf(run.id)).toMatchObject({
        prompt: 10,
        completion: 5,
        isEstimated: false,
        errorCode: null,
        ofRun: 10,
      })
    })

    it('whose run was cancelled after its process had died', async () => {
      const conversationId = await newConversation(null)
      const { run } = await ask(conversationId)
      await sql(world.deps.pool).query('UPDATE provider_call SET ended_at = NULL WHERE run_id = $1', [run.id])
      await sql(world.deps.pool).query(
        `UPDATE run SET prompt_tokens = 0, state = 'CANCELLED', ended_at = now() - interval '1 day' WHERE id = $1`,
        [run.id],
      )
      await endAbandonedCalls(world.deps)
      expect(await callOf(run.id)).toMatchObject({ hasEnded: true, ofRun: 10, ofTenant: 30 })
      expect(await endAbandonedCalls(world.deps)).toBe(0)
    })

    it('that is cancelled before the reply begins, but not of one that the provider refuses', async () => {
      const { runId } = await begin()
      await cancelRun(world.deps, tenant.as('ada'), { runId })
      const cancelled = await callOf(runId)
      expect(cancelled).toMatchObject({ isEstimated: true, errorCode: 'CANCELLED', completion: 0 })
      expect(cancelled.prompt).toBeGreaterThan(3)
      provider.next([new ProviderCallFailed('REFUSED', 'The provider answered 401.', false)])
      const { run } = await ask(await newConversation(null))
      expect(await callOf(run.id)).toMatchObject({ prompt: 0, completion: 0, errorCode: 'PROVIDER_FAILED' })
    })
  })
})
