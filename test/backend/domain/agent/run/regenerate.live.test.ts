// What readers receive while a run regenerates a reply, in any process, and what is left if its process dies.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { cancelRun } from '../../../../../src/domain/agent/run/cancel.ts'
import { getRuns } from '../../../../../src/domain/agent/run/run.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { endLostRuns } from '../../../../../src/domain/agent/run/sweep.ts'
import { appendTurn } from '../../../../../src/domain/turn/append/append.ts'
import { history } from '../../../../../src/domain/turn/history.ts'
import type { VisibleEvent } from '../../../../../src/domain/turn/journal/event.ts'
import { abortSilentTurns } from '../../../../../src/domain/turn/streaming/stream.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { backends } from '../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { read, textOf, type Reading } from '../../../../support/reading.ts'
import { createScriptedProvider, forever, gate } from '../../../../support/scripted-provider.ts'
import { sql } from '../../../../support/sql.ts'

const provider = createScriptedProvider()
type Superseded = Extract<VisibleEvent, { type: 'TurnSuperseded' }>

describe.each(backends)('a reply that is regenerated on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string

  beforeAll(async () => {
    site = await openSite(backend, { providers: { scripted: provider } })
    one = await site.start()
    other = await site.start()
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    provider.reset()
    ada = newViewer()
    const bot = { actor: 'bot', agent: { provider: 'scripted' } }
    const participants = [{ actor: 'ada' }, { actor: 'eve' }, bot]
    conversationId = (await createConversation(one.deps, ada, { participants })).conversation.id
  })

  const say = async (actor: string, content: string, audience?: string[]) => {
    const turn = { actor, content, audience, role: actor === 'bot' ? ('ASSISTANT' as const) : ('USER' as const) }
    return (await appendTurn(one.deps, ada, { conversationId, turn })).turn
  }
  const regenerate = async (supersedes: string) =>
    (await runTurn(one.deps, ada, { conversationId, supersedes, wait: false })).run
  const subscribe = ({ deps }: Process, actor = 'ada', afterSeq?: number) =>
    read(deps, { ...ada, actor }, { conversationId, afterSeq })
  const superseded = ({ events }: Reading) =>
    events.find((event): event is Superseded => event.type === 'TurnSuperseded')
  const newest = async () =>
    (await history(one.deps, ada, [conversationId], {})).get(conversationId)!.find(({ actor }) => actor === 'bot')!
  const isEnded = ({ events }: Reading) => events.some(({ type }) => type === 'TurnCommitted' || type === 'TurnAborted')
  /** The types of the events about the turn, consecutive ones once. */
  const typesOf = ({ events }: Reading, turnId: string) =>
    events
      .filter((event) =>
        event.type === 'TurnSuperseded'
          ? event.by.id === turnId
          : ('turnId' in event && event.turnId === turnId) || ('turn' in event && event.turn?.id === turnId),
      )
      .map(({ type }) => type)
      .filter((type, index, all) => type !== all[index - 1])

  it('reaches live, late and resumed readers in any process, whole', async () => {
    await say('ada', 'Where is it?')
    const older = await say('bot', 'In Hull.')
    const [here, there] = [await subscribe(one), await subscribe(other)]
    const [half, rest] = [gate(), gate()]
    provider.next(['In ', half.pause, 'York', rest.pause, '.'])
    await regenerate(older.id)
    await here.until('the first delta', ({ events }) => events.some(({ type }) => type === 'TurnDelta'))
    const { turn, by } = superseded(here)!
    expect([turn!.id, by.status, by.position, by.text]).toEqual([older.id, 'STREAMING', older.position, ''])
    half.open()
    await there.until('more text', () => textOf(there, by.id) === 'In York')
    const late = [await subscribe(one), await subscribe(other), await subscribe(other, 'ada', 0)]
    for (const each of late) await each.until('the text so far', () => textOf(each, by.id) === 'In York')
    rest.open()
    const readings = [here, there, ...late]
    for (const each of readings) {
      await each.until('the end', isEnded)
      expect(textOf(each, by.id)).toBe('In York.')
    }
    const all = ['TurnSuperseded', 'TurnDelta', 'TurnCommitted']
    expect(readings.map((each) => typesOf(each, by.id))).toEqual([all, all, all.slice(1), all.slice(1), all])
    const afterwards = await subscribe(other, 'ada', 0)
    await afterwards.until('the end', isEnded)
    expect(typesOf(afterwards, by.id)).toEqual(['TurnSuperseded', 'TurnCommitted'])
    expect(superseded(afterwards)!.by).toMatchObject({ status: 'COMMITTED', text: 'In York.' })
    await Promise.all([...readings, afterwards].map((each) => each.stop()))
  })

  it('reaches a slow reader whole', async () => {
    const older = await say('bot', 'In Hull.')
    const slow = await subscribe(other)
    slow.pause()
    const words = Array.from({ length: 600 }, (_, n) => `word ${n} `)
    provider.next(words.flatMap((word) => [word, async () => new Promise((resolve) => setImmediate(resolve))]))
    await regenerate(older.id)
    await expect.poll(async () => (await newest()).status).toBe('COMMITTED')
    slow.resume()
    await slow.until('the end', isEnded)
    const { by } = superseded(slow)!
    if (by.status === 'STREAMING') expect(textOf(slow, by.id)).toBe(words.join(''))
    expect((await newest()).text).toBe(words.join(''))
    await slow.stop()
  })

  it('reaches nobody outside its audience', async () => {
    const older = await say('bot', 'The code is canary1.', ['ada'])
    const [hers, eves] = [await subscribe(other), await subscribe(other, 'eve')]
    provider.next(['The code is ', 'canary2.'])
    await regenerate(older.id)
    await hers.until('the end', isEnded)
    expect(textOf(hers, superseded(hers)!.by.id)).toBe('The code is canary2.')
    await say('ada', 'Thanks.')
    await eves.until('the turn', ({ events }) => events.some(({ type }) => type === 'TurnAppended'))
    expect(eves.events.map(({ type }) => type)).toEqual(['TurnAppended'])
    const late = await subscribe(one, 'eve', 0)
    await late.until('the turn', ({ events }) => events.some(({ type }) => type === 'TurnAppended'))
    expect(JSON.stringify([eves.events, late.events])).not.toContain('canary')
    await Promise.all([hers, eves, late].map((each) => each.stop()))
  })

  it('is aborted for its readers when the run is cancelled', async () => {
    const older = await say('bot', 'In Hull.')
    const reading = await subscribe(other)
    provider.next(['In Y', forever])
    const { id } = await regenerate(older.id)
    await reading.until('the text', () => superseded(reading) && textOf(reading, superseded(reading)!.by.id) === 'In Y')
    await cancelRun(other.deps, ada, { runId: id })
    await reading.until('the end', isEnded)
    expect(typesOf(reading, superseded(reading)!.by.id)).toEqual(['TurnSuperseded', 'TurnDelta', 'TurnAborted'])
    await reading.stop()
  })

  it.each(['the sweep of runs', 'the sweep of turns'])('is aborted by %s when the process has died', async (sweep) => {
    const older = await say('bot', 'In Hull.')
    const reading = await subscribe(other)
    provider.next(['In Y', forever])
    const { id } = await regenerate(older.id)
    await reading.until('the text', () => superseded(reading) && textOf(reading, superseded(reading)!.by.id) === 'In Y')
    const query = (text: string, value: string) => sql(one.deps.pool).query(text, [value])
    // As the process would have left them: nobody renews the leases, and the holder is no longer that of the process.
    await query(`UPDATE run SET lease_until = now() - interval '1 s', holder = 'dead' WHERE id = $1`, id)
    await query(
      `WITH o AS (UPDATE stream SET renewed_at = now() - interval '1 h' WHERE conversation_id = $1 RETURNING turn_id)
       UPDATE chunk SET written_at = now() - interval '1 h' WHERE turn_id IN (SELECT turn_id FROM o)`,
      conversationId,
    )
    if (sweep === 'the sweep of runs') await endLostRuns(other.deps)
    else await abortSilentTurns(other.deps)
    await reading.until('the end', isEnded)
    const { by } = superseded(reading)!
    expect(await newest()).toMatchObject({ id: by.id, status: 'ABORTED', text: 'In Y' })
    expect((await getTurns(one.deps, ada, [older.id])).get(older.id)).toMatchObject({
      text: 'In Hull.',
      supersededBy: by.id,
    })
    if (sweep === 'the sweep of turns') await endLostRuns(other.deps)
    expect((await getRuns(one.deps, ada, [id])).get(id)).toMatchObject({ state: 'FAILED', errorCode: 'INTERRUPTED' })
    await regenerate(by.id)
    await expect.poll(newest).toMatchObject({ status: 'COMMITTED', text: 'ok' })
    await reading.stop()
  })
})
