// Reading a transcript: filters, history(limit, beforePosition), and pages in both directions. Each page equals the
// corresponding slice of a plain array, regardless of writes between pages.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newId } from '../../../../src/domain/kernel/id.ts'
import { appendDelta } from '../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { appendTurns, openTurn } from '../../../../src/domain/turn/append/append.ts'
import {
  history,
  MIN_SHARE_BYTES,
  PAGE_BYTES,
  pageOfTurnJson,
  pageOfTurns,
  shareOf,
  turnCursor,
  type TurnsArgs,
} from '../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../src/domain/turn/supersede.ts'
import { InvalidInput } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { casesOf } from '../../../support/long.ts'
import { EVERYTHING, expectSameJson, renderedOf } from '../../../support/turn-json.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'
import { WRITER } from '../../../support/writer.ts'

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
type Version = { id: string; seq: number; position: number }
const newestOf = <V extends Version>(all: readonly V[]) =>
  all.filter(({ position, seq }) => !all.some((o) => o.position === position && o.seq > seq))
const byPosition = (a: Version, b: Version) => a.position - b.position || a.seq - b.seq

describe.each(backends)('reading the transcript on $name', (backend) => {
  const world = useWorld(backend)

  /** A page of turns, which is the same as JSON. */
  const pageOf = async (tenant: Tenant, conversationId: string, args: TurnsArgs, actor = 'ann') => {
    const page = (await pageOfTurns(world.deps, tenant.as(actor), [conversationId], args)).get(conversationId)!
    await expectSameJson(world.deps, tenant.as(actor), conversationId, args, page)
    return page
  }
  const textsOf = async (tenant: Tenant, conversationId: string, args: TurnsArgs, actor = 'ann') =>
    (await pageOf(tenant, conversationId, args, actor)).items.map(({ text }) => text)
  /** A conversation whose turns have the texts 1, 2, 3 … */
  async function conversationOf(count: number): Promise<[Tenant, string]> {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const turns = upTo(count).map((n) => ({ role: 'USER' as const, content: `${n}` }))
    if (count) await appendTurns(world.deps, tenant.as('ann'), { conversationId, turns })
    return [tenant, conversationId]
  }
  const supersede = (tenant: Tenant, turnId: string, content: string) =>
    supersedeTurn(world.deps, tenant.as('ann'), { turnId, turn: { role: 'USER', content } }).then(({ turn }) => turn)

  describe('large turns', () => {
    const LARGE = 200_000
    const largeConversation = async (count: number) => {
      const [tenant, conversationId] = await conversationOf(0)
      for (const n of upTo(count)) await tenant.append(conversationId, 'ann', `${n} ${'x'.repeat(LARGE)}`)
      return { tenant, conversationId }
    }
    const numbers = (turns: readonly { text: string }[]) => turns.map(({ text }) => parseInt(text, 10))

    it('end a page before its maximum size; the next page continues with the next turn', async () => {
      const { tenant, conversationId } = await largeConversation(8)
      const fit = Math.floor(PAGE_BYTES / LARGE)
      const first = await pageOf(tenant, conversationId, { first: 200 })
      expect(numbers(first.items)).toEqual(upTo(fit))
      expect(first.hasNextPage).toBe(true)
      const next = await pageOf(tenant, conversationId, { first: 200, after: turnCursor(first.items.at(-1)!) })
      expect(numbers(next.items)).toEqual(upTo(8).slice(fit))
      expect(next.hasNextPage).toBe(false)
      const last = await pageOf(tenant, conversationId, { last: 200 })
      expect(numbers(last.items)).toEqual(upTo(8).slice(-fit))
      expect(last).toMatchObject({ hasPreviousPage: true, hasNextPage: false })
    })

    it('share the maximum with the turns of other conversations, but each page has at least one turn', async () => {
      const { tenant, conversationId } = await largeConversation(3)
      const others = await Promise.all(upTo(40).map(() => tenant.newConversation('ann')))
      const read = await pageOfTurns(world.deps, tenant.as('ann'), [conversationId, ...others], { first: 200 })
      expect(shareOf(PAGE_BYTES, 41)).toBe(MIN_SHARE_BYTES)
      expect(numbers(read.get(conversationId)!.items)).toEqual([1])
      expect(read.get(conversationId)!.hasNextPage).toBe(true)
    })

    it('make a history that is too large fail with the number of turns that fit', async () => {
      const { tenant, conversationId } = await largeConversation(3)
      const ids = [conversationId, ...upTo(80).map(() => newId('conversation'))]
      await expect(history(world.deps, tenant.as('ann'), ids, { limit: 200 })).rejects.toEqual(
        InvalidInput.at('limit', `the newest turns have more than ${MIN_SHARE_BYTES} bytes; ask for at most 1 at once`),
      )
    })
  })

  describe('pages', () => {
    it('are slices of the transcript, regardless of turns appended or superseded between pages', async () => {
      const cursor = fc.option(fc.nat(1000), { freq: 3 })
      const step = fc.oneof(
        fc.record({ append: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ supersede: fc.nat(1000) }),
        fc.record({
          backwards: fc.boolean(),
          size: fc.nat(6),
          after: cursor,
          before: cursor,
          includeSuperseded: fc.boolean(),
        }),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
          const [tenant, conversationId] = await conversationOf(0)
          const all: Version[] = []
          const newest = () =>
            all.filter(({ position, seq }) => !all.some((o) => o.position === position && o.seq > seq))
          for (const step of steps) {
            if ('append' in step) {
              for (let i = 0; i < step.append; i++) all.push(await tenant.append(conversationId, 'ann', 'said'))
            } else if ('supersede' in step) {
              const older = newest()[step.supersede % all.length]
              if (older) all.push(await supersede(tenant, older.id, 'edited'))
            } else {
              // Pick cursors of any version, including superseded versions.
              const [after, before] = [step.after, step.before].map((pick) =>
                pick === null || all.length === 0 ? null : all[pick % all.length]!,
              )
              const page = await pageOf(tenant, conversationId, {
                [step.backwards ? 'last' : 'first']: step.size,
                includeSuperseded: step.includeSuperseded,
                after: after && turnCursor(after),
                before: before && turnCursor(before),
              })
              const list = (step.includeSuperseded ? [...all] : newest()).sort(byPosition)
              const between = list.filter((turn) =>
                step.includeSuperseded
                  ? (!after || byPosition(turn, after) > 0) && (!before || byPosition(turn, before) < 0)
                  : // Without superseded versions, the cursors of all versions of a turn are equivalent.
                    (!after || turn.position > after.position) && (!before || turn.position < before.position),
              )
              const expected = step.backwards
                ? between.slice(Math.max(0, between.length - step.size))
                : between.slice(0, step.size)
              expect(page.items.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
              const more = between.length > step.size
              expect(step.backwards ? page.hasPreviousPage : page.hasNextPage).toBe(more)
              expect(step.backwards ? page.hasNextPage : page.hasPreviousPage).toBe(
                Boolean(step.backwards ? before : after),
              )
            }
          }
        }),
        { numRuns: casesOf(30) },
      )
    })

    it.each(['first', 'last'] as const)(
      'read with %s return each turn once while turns are appended and edited',
      async (argument) => {
        const [tenant, conversationId] = await conversationOf(40)
        const seen: number[] = []
        let cursor: string | null = null
        for (;;) {
          const page = await pageOf(tenant, conversationId, {
            [argument]: 7,
            [argument === 'first' ? 'after' : 'before']: cursor,
          })
          seen.push(...page.items.map(({ position }) => position))
          if (!(argument === 'first' ? page.hasNextPage : page.hasPreviousPage) || seen.length > 100) break
          const edge = page.items.at(argument === 'first' ? -1 : 0)!
          cursor = turnCursor(edge)
          // Between two pages, a turn is appended, and the turn at the cursor is edited.
          if (seen.length < 60) await tenant.append(conversationId, 'ann', 'more')
          await supersede(tenant, edge.id, 'edited')
        }
        expect(new Set(seen).size).toBe(seen.length)
        expect(
          upTo(41)
            .slice(1)
            .every((seq) => seen.includes(seq)),
        ).toBe(true)
      },
    )

    it('have 50 turns by default, and may be empty', async () => {
      const [tenant, conversationId] = await conversationOf(60)
      expect(await textsOf(tenant, conversationId, {})).toEqual(upTo(50).map(String))
      const none = await pageOf(tenant, conversationId, { first: 0 })
      expect(none).toEqual({ items: [], hasNextPage: true, hasPreviousPage: false })
      expect(await pageOf(tenant, await tenant.newConversation(), {})).toEqual({
        items: [],
        hasNextPage: false,
        hasPreviousPage: false,
      })
    })

    it('of many conversations are read together', async () => {
      const tenant = world.tenant()
      const conversationIds = await Promise.all(upTo(5).map(() => tenant.newConversation('ann')))
      for (const [index, conversationId] of conversationIds.entries()) {
        for (const n of upTo(index)) await tenant.append(conversationId, 'ann', `${index}.${n}`)
      }
      const foreign = (await conversationOf(3))[1]
      const ids = [...conversationIds, foreign, newId('conversation')]
      const pages = await pageOfTurns(world.deps, tenant.as('ann'), ids, { last: 3 })
      expect(ids.map((conversationId) => pages.get(conversationId)!.items.map(({ text }) => text))).toEqual([
        [],
        ['1.1'],
        ['2.1', '2.2'],
        ['3.1', '3.2', '3.3'],
        ['4.2', '4.3', '4.4'],
        [],
        [],
      ])
      expect(ids.filter((conversationId) => pages.get(conversationId)!.hasPreviousPage)).toEqual([conversationIds[4]])
      const rendered = await pageOfTurnJson(world.deps, tenant.as('ann'), ids, {
        args: { last: 3 },
        template: EVERYTHING,
      })
      expect([...rendered].sort().map(([id, { list }]) => [id, list.text])).toEqual(
        conversationIds.toSorted().map((id) => [id, JSON.stringify(pages.get(id)!.items.map(renderedOf))]),
      )
    })

    it.each<[string, TurnsArgs, RegExp]>([
      ['a negative first', { first: -1 }, /^first: is -1; it must be 0 to 200$/],
      ['first above 200', { first: 201 }, /^first: is 201; it must be 0 to 200$/],
      ['a negative last', { last: -5 }, /^last: is -5; it must be 0 to 200$/],
      ['last above 200', { last: 1e9 }, /^last: .*0 to 200$/],
      ['first and last', { first: 1, last: 1 }, /first or last, not both/],
      ['a fraction', { first: 1.5 }, /^first: /],
      ['a value that is not a number', { first: NaN }, /^first: /],
      ['an unknown cursor', { after: 'nonsense' }, /^after: "nonsense" is not a cursor of this list$/],
      ['an empty cursor', { before: '' }, /^before: /],
      ['a cursor of another list', { after: Buffer.from('CREATED_AT:1:conv_x').toString('base64url') }, /^after: /],
      [
        'a cursor beyond the largest number',
        { after: Buffer.from('turn:9999999999:1').toString('base64url') },
        /^after: /,
      ],
      ["a turn's id as a cursor", { before: newId('turn') }, /^before: /],
      ['an unknown role', { filter: { roles: ['KING' as 'USER'] } }, /^roles\.0: /],
      ['a negative sinceSeq', { filter: { sinceSeq: -1 } }, /^sinceSeq: must not be negative$/],
      ['an invalid time', { filter: { createdAfter: new Date(NaN) } }, /^createdAfter: /],
      ['U+0000 in an actor', { filter: { actors: ['a\0'] } }, /U\+0000/],
    ])('reject %s', async (_, args, message) => {
      const [tenant, conversationId] = await conversationOf(1)
      const error = await pageOf(tenant, conversationId, args).then(
        () => null,
        (reason) => reason,
      )
      expect(error).toBeInstanceOf(InvalidInput)
      expect(error.message).toMatch(message)
    })
  })

  describe('a filter of the transcript', () => {
    const at = (day: number) => new Date(Date.UTC(2024, 0, day))
    async function mixed(): Promise<[Tenant, string]> {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      const turns = [
        ['ann', 'USER', 1],
        ['bob', 'ASSISTANT', 2],
        ['ann', 'SYSTEM', 3],
        ['bob', 'USER', 4],
        ['ann', 'USER', 5],
      ] as const
      await appendTurns(world.deps, tenant.as('ann'), {
        conversationId,
        turns: turns.map(([actor, role, day]) => ({ actor, role, content: `${day}`, createdAt: at(day) })),
      })
      return [tenant, conversationId]
    }

    it.each<[TurnsArgs['filter'], string]>([
      [{}, '12345'],
      [null, '12345'],
      [{ actors: ['ann'] }, '135'],
      [{ actors: ['ann', 'bob'] }, '12345'],
      [{ actors: [] }, ''],
      [{ roles: [] }, ''],
      [{ roles: ['USER'] }, '145'],
      [{ roles: ['SYSTEM', 'ASSISTANT'] }, '23'],
      [{ createdAfter: at(3) }, '345'],
      [{ createdBefore: at(3) }, '12'],
      [{ createdAfter: at(2), createdBefore: at(4) }, '23'],
      [{ sinceSeq: 0 }, '12345'],
      [{ sinceSeq: 4 }, '345'],
      [{ sinceSeq: 2 ** 31 - 1 }, ''],
      [{ actors: ['ann'], roles: ['USER'], createdAfter: at(2) }, '5'],
      [{ actors: ['nobody'] }, ''],
    ])('with %j finds %s', async (filter, found) => {
      const [tenant, conversationId] = await mixed()
      expect((await textsOf(tenant, conversationId, { filter })).join('')).toBe(found)
      // Pages of one turn have the same result.
      const paged: string[] = []
      let after: string | null = null
      for (;;) {
        const page = await pageOf(tenant, conversationId, { first: 1, after, filter })
        paged.push(...page.items.map(({ text }) => text))
        if (!page.hasNextPage) break
        after = turnCursor(page.items[0]!)
      }
      expect(paged.join('')).toBe(found)
      expect((await textsOf(tenant, conversationId, { last: 2, filter })).join('')).toBe(found.slice(-2))
    })

    it('with sinceSeq finds later edits at their original position', async () => {
      const [tenant, conversationId] = await mixed()
      const first = (await pageOf(tenant, conversationId, { first: 1 })).items[0]!
      await supersede(tenant, first.id, '1 edited')
      expect(await textsOf(tenant, conversationId, { filter: { sinceSeq: 6 } })).toEqual(['1 edited', '5'])
    })

    it('with sinceSeq finds the turns written, edited or closed after the entry, on pages of any size', async () => {
      const step = fc.record({ op: fc.constantFrom('append', 'open', 'close', 'supersede'), pick: fc.nat(100) })
      const reading = fc.record({
        back: fc.nat(12),
        size: fc.integer({ min: 1, max: 4 }),
        includeSuperseded: fc.boolean(),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 4, maxLength: 20 }),
          fc.array(reading, { minLength: 6, maxLength: 6 }),
          async (steps, readings) => {
            const [tenant, conversationId] = await conversationOf(0)
            const writer = { writerToken: WRITER }
            /** Versions with the newest entry about each. */
            const all: (Version & { changed: number; isOpen: boolean })[] = []
            const lastSeq = async () => (await tenant.lastSeq(conversationId))!
            for (const { op, pick } of steps) {
              const open = all.filter(({ isOpen }) => isOpen)
              const closed = newestOf(all).filter(({ isOpen }) => !isOpen)
              if (op === 'append') {
                const turn = await tenant.append(conversationId, 'ann', 'said')
                all.push({ ...turn, changed: turn.seq, isOpen: false })
              } else if (op === 'open') {
                const { turn } = await openTurn(world.deps, tenant.as('ann'), {
                  ...writer,
                  conversationId,
                  turn: { role: 'USER' },
                })
                all.push({ ...turn, changed: turn.seq, isOpen: true })
              } else if (op === 'close' && open.length > 0) {
                const turn = open[pick % open.length]!
                const end = pick % 2 ? abortTurn : commitTurn
                if (end === commitTurn)
                  await appendDelta(world.deps, tenant.as('ann'), { ...writer, turnId: turn.id, text: 'x' })
                await end(world.deps, tenant.as('ann'), { ...writer, turnId: turn.id })
                Object.assign(turn, { isOpen: false, changed: await lastSeq() })
              } else if (op === 'supersede' && closed.length > 0) {
                const turn = await supersede(tenant, closed[pick % closed.length]!.id, 'edited')
                all.push({ ...turn, changed: turn.seq, isOpen: false })
              }
            }
            for (const { back, size, includeSuperseded } of readings) {
              const sinceSeq = Math.max(0, (await lastSeq()) - back)
              const expected = (includeSuperseded ? all : newestOf(all))
                .filter(({ changed }) => changed > sinceSeq)
                .sort(byPosition)
                .map(({ id }) => id)
              const found: string[] = []
              let after: string | null = null
              do {
                const args = { first: size, after, includeSuperseded, filter: { sinceSeq } }
                const page = await pageOf(tenant, conversationId, args)
                found.push(...page.items.map(({ id }) => id))
                after = page.hasNextPage ? turnCursor(page.items.at(-1)!) : null
              } while (after !== null)
              expect(found).toEqual(expected)
              const last = await pageOf(tenant, conversationId, { last: size, includeSuperseded, filter: { sinceSeq } })
              expect(last.items.map(({ id }) => id)).toEqual(expected.slice(-size))
            }
          },
        ),
        { numRuns: casesOf(15) },
      )
    })

    it('accepts an extreme time or rejects it with a validation error', async () => {
      const [tenant, conversationId] = await mixed()
      for (const time of [new Date(8.64e15), new Date(-8.64e15), new Date('0000-06-01T00:00:00Z')]) {
        const found = await textsOf(tenant, conversationId, { filter: { createdBefore: time } }).catch((error) => error)
        expect(found).toSatisfy((answer) => answer instanceof InvalidInput || Array.isArray(answer))
      }
    })

    it('skips a superseded version even if only that version matches', async () => {
      const [tenant, conversationId] = await mixed()
      const first = (await pageOf(tenant, conversationId, { first: 1 })).items[0]!
      await supersedeTurn(world.deps, tenant.as('ann'), { turnId: first.id, turn: { role: 'SYSTEM', content: 'now' } })
      expect(await textsOf(tenant, conversationId, { filter: { actors: ['ann'], roles: ['USER'] } })).toEqual(['5'])
      expect(
        await textsOf(tenant, conversationId, {
          includeSuperseded: true,
          filter: { actors: ['ann'], roles: ['USER'] },
        }),
      ).toEqual(['1', '5'])
    })
  })

  describe('history', () => {
    const readHistory = async (tenant: Tenant, conversationId: string, args: Parameters<typeof history>[3]) =>
      (await history(world.deps, tenant.as('ann'), [conversationId], args)).get(conversationId)!.map(({ text }) => text)

    it('returns the newest turns, oldest first, 50 by default', async () => {
      const [tenant, conversationId] = await conversationOf(60)
      expect(await readHistory(tenant, conversationId, {})).toEqual(upTo(60).slice(10).map(String))
      expect(await readHistory(tenant, conversationId, { limit: 2 })).toEqual(['59', '60'])
      expect(await readHistory(tenant, await tenant.newConversation(), {})).toEqual([])
    })

    it("returns a page of the server's size by default if that is less than 50", async () => {
      const [tenant, conversationId] = await conversationOf(4)
      const deps = { ...world.deps, limits: { ...world.deps.limits, pageSize: 3 } }
      const read = await history(deps, tenant.as('ann'), [conversationId], {})
      expect(read.get(conversationId)!.map(({ text }) => text)).toEqual(['2', '3', '4'])
    })

    it('with `before` returns the turns at positions before that seq, even if they were edited later', async () => {
      const [tenant, conversationId] = await conversationOf(5)
      // The ParticipantJoined entry has seq 1, so turn n has seq n + 1.
      expect(await readHistory(tenant, conversationId, { beforePosition: 4 })).toEqual(['1', '2'])
      expect(await readHistory(tenant, conversationId, { beforePosition: 4, limit: 1 })).toEqual(['2'])
      for (const beforePosition of [0, 1, 2])
        expect(await readHistory(tenant, conversationId, { beforePosition })).toEqual([])
      expect(await readHistory(tenant, conversationId, { beforePosition: 2 ** 31 - 1 })).toEqual(upTo(5).map(String))
      await supersede(tenant, (await pageOf(tenant, conversationId, { first: 1 })).items[0]!.id, 'edited')
      expect(await readHistory(tenant, conversationId, { beforePosition: 4 })).toEqual(['edited', '2'])
      expect(await readHistory(tenant, conversationId, { beforePosition: 7 })).toEqual(['edited', '2', '3', '4', '5'])
    })

    it.each([
      [{ limit: 0 }, 'limit: is 0; it must be 1 to 200'],
      [{ limit: 201 }, 'limit: is 201; it must be 1 to 200'],
      [{ limit: -1 }, 'limit: must not be negative'],
      [{ beforePosition: -1 }, 'beforePosition: must not be negative'],
    ])('rejects %j', async (args, message) => {
      const [tenant, conversationId] = await conversationOf(0)
      await expect(readHistory(tenant, conversationId, args)).rejects.toThrow(
        new InvalidInput([{ path: [message.split(':')[0]!], message: message.slice(message.indexOf(' ') + 1) }]),
      )
    })
  })
})
