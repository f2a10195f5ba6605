// The time that a server takes to refuse requests without a valid token, over each transport.

import { measureRefusals } from '../bench/refusals.ts'
import type { Row, Section } from './section.ts'

export const refusals: Section = {
  name: 'refusals',
  async run({ stores, share }) {
    const rows: Row[] = []
    for (const store of stores) {
      const measured = await measureRefusals(await store.env(), share)
      rows.push(...measured.map((row) => ({ ...row, name: `${store.name}, ${row.name}` })))
    }
    return rows
  },
}
