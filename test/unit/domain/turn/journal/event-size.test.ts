// The estimated size of an event, as the journal stores it and as a viewer receives it.

import { describe, expect, it } from 'vitest'
import { projectEvent, type ConversationEvent } from '../../../../../src/domain/turn/journal/event.ts'
import { sizeOfEvent } from '../../../../../src/domain/turn/journal/event-size.ts'
import type { View } from '../../../../../src/domain/kernel/view.ts'
import type { RunRow } from '../../../../../src/store/sql/agent/run/run-columns.ts'
import type { TurnRow } from '../../../../../src/store/sql/turn/turn-columns.ts'

const TEXT = 'x'.repeat(10_000)
const VERSION = { seq: 7, position: 2, audience: null, text: TEXT, parts: null, metadata: null, citations: null }
const version = VERSION as Partial<TurnRow> as TurnRow

/** A view of the turn's first version (entry 2), but of no entry after 5. */
const PAST: View = { actor: 'ann', windows: [1, 6], addressed: true }
const PRESENT: View = { actor: 'ann', windows: [1], addressed: true }

const common = { conversationId: 'c', at: new Date(0) }
const pinned: ConversationEvent = { ...common, type: 'TurnUpdated', seq: 8, turn: version }
const by = { ...version, seq: 3, text: 'short' }
const edited: ConversationEvent = { ...common, type: 'TurnSuperseded', seq: 3, turn: version, by }

describe('the size of an event', () => {
  it.each([
    ['a pin', pinned],
    ['an edit', edited],
  ])('includes the text of a turn in %s only if the viewer receives the turn', (_, event) => {
    expect(sizeOfEvent(event)).toBeGreaterThan(TEXT.length)
    expect(sizeOfEvent(projectEvent(PRESENT, event))).toBeGreaterThan(TEXT.length)
    expect(projectEvent(PAST, event)).toMatchObject({ turn: null })
    expect(sizeOfEvent(projectEvent(PAST, event))).toBeLessThan(TEXT.length)
  })

  it.each(['RunStarted', 'RunChanged'] as const)(
    'includes the options of a run in %s, which viewers do not receive',
    (type) => {
      const options = { instructions: TEXT, tools: [{ name: 'find', description: TEXT, schema: { title: TEXT } }] }
      const run = {
        id: 'run',
        state: 'FAILED',
        options,
        audience: null,
        errorMessage: TEXT,
      } as Partial<RunRow> as RunRow
      const event: ConversationEvent = { ...common, type, seq: 3, run }
      expect(sizeOfEvent(event)).toBeGreaterThan(4 * TEXT.length)
      const seen = sizeOfEvent(projectEvent(PRESENT, event))
      expect(seen).toBeGreaterThan(TEXT.length)
      expect(seen).toBeLessThan(2 * TEXT.length)
    },
  )
})
