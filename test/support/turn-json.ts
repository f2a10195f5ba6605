// Compares pages of turns that Postgres renders as JSON with pages of objects.

import { expect } from 'vitest'
import type { Deps } from '../../src/domain/deps.ts'
import type { Page } from '../../src/domain/kernel/page.ts'
import { pageOfTurnJson, type TurnsArgs } from '../../src/domain/turn/history.ts'
import type { Turn } from '../../src/domain/turn/turn.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { turnTemplate } from '../../src/domain/turn/turn-json.ts'
import { PROPERTIES } from '../../src/store/sql/turn/turn-json.ts'

/** Renders all properties that can be rendered, under their names. */
export const EVERYTHING = turnTemplate(
  PROPERTIES.map((property) => ({ key: property, value: property })),
  true,
)

/** Returns the properties of the turn that EVERYTHING renders. */
export const renderedOf = (turn: Turn) => Object.fromEntries(PROPERTIES.map((property) => [property, turn[property]]))

const endOf = ({ position, seq }: Turn) => ({ position, seq })

/** Checks that `pageOfTurnJson` returns the turns of `page`, with its neighbours, ends and number of values. */
export async function expectSameJson(
  deps: Deps,
  viewer: Viewer,
  conversationId: string,
  args: TurnsArgs,
  page: Page<Turn>,
): Promise<void> {
  const rendered = (await pageOfTurnJson(deps, viewer, [conversationId], { args, template: EVERYTHING })).get(
    conversationId,
  )
  const ends = page.items.length > 0 ? [endOf(page.items[0]!), endOf(page.items.at(-1)!)] : []
  expect(rendered).toEqual({
    ...page,
    items: ends,
    list: { text: JSON.stringify(page.items.map(renderedOf)), values: 1 + page.items.length * EVERYTHING.values },
  })
}
