// Turns found by their ids, also by those of earlier versions.

import { expect, it } from 'vitest'
import { createFinder } from '../../../../src/web/transcript/finder.ts'
import { turnAt } from '../turns.ts'

it('a turn is found by its id, and after an edit by both its ids', () => {
  const find = createFinder()
  const turns = [turnAt(1), turnAt(3)]
  expect(find(turns, 'turn_3')!.position).toBe(3)
  const edited = [turnAt(1), turnAt(3, { id: 'turn_5', text: 'newer' }), turnAt(6)]
  expect(find(edited, 'turn_3')!.text).toBe('newer')
  expect(find(edited, 'turn_5')!.text).toBe('newer')
})

it('a turn that is not loaded is not found, and is found once it is', () => {
  const find = createFinder()
  expect(find([turnAt(3)], 'turn_1')).toBeNull()
  expect(find([turnAt(1), turnAt(3)], 'turn_1')!.position).toBe(1)
  expect(find([turnAt(3)], 'turn_1')).toBeNull()
})
