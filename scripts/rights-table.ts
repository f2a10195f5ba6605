// Formats the tables of rights as Markdown, and inserts them into the text of docs/rights.md.

import { CONDITIONS, VERBS, type Condition, type Permit, type VerbRule } from '../src/domain/kernel/rights/rights.ts'

/** The comments around the printed tables in docs/rights.md. */
export const MARKS = {
  begin: '<!-- rights: printed by `npm run docs:rights` -->',
  end: '<!-- end of rights -->',
} as const

const HOLDERS = { OWNER: 'owner', ADMINISTRATOR: 'owner, administrator', PARTICIPANT: 'participant' } as const
const LIMITED = {
  ONE: 'only for its conversations',
  OBJECTS: 'only objects of its conversations',
  NONE: 'refused',
} as const

const holderOf = ({ relation, right }: Permit): string =>
  relation ? `${HOLDERS[relation]}, or \`${right}\`` : `\`${right}\``

const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`

/** Returns the cells of a verb's rule. */
function cellsOf({ right, permit, conditions = [], limited }: VerbRule): string[] {
  const named = conditions.map((condition) => `\`${condition}\``).join(', ')
  return [`\`${right}\``, permit ? holderOf(permit) : '', named, LIMITED[limited]]
}

/** Returns table rows. Consecutive verbs with the same rule share a row. */
function verbRows(): string[] {
  const rows: { verbs: string[]; cells: string[] }[] = []
  for (const [verb, rule] of Object.entries(VERBS)) {
    const cells = cellsOf(rule)
    const last = rows.at(-1)
    if (last && last.cells.join() === cells.join()) last.verbs.push(`\`${verb}\``)
    else rows.push({ verbs: [`\`${verb}\``], cells })
  }
  return rows.map(({ verbs, cells }) => row(verbs.join(', '), ...cells))
}

function conditionRow(condition: Condition): string {
  const rule = CONDITIONS[condition]
  return row(`\`${condition}\``, `a call ${rule.when}`, holderOf(rule), rule.reason)
}

/** Returns two tables as Markdown: the verbs, and the conditions of their rules. */
export const printRights = (): string =>
  [
    row('Verb', 'Right', 'Must come from', 'Conditions', 'Limited credential'),
    '|---|---|---|---|---|',
    ...verbRows(),
    '',
    row('Condition', 'Applies to', 'Must come from', 'Reason'),
    '|---|---|---|---|',
    ...(Object.keys(CONDITIONS) as Condition[]).map(conditionRow),
  ].join('\n')

/** Replaces the tables between the marks of the document. @throws Error if it has no marks */
export function withRights(document: string): string {
  const [before, rest] = document.split(MARKS.begin)
  const after = rest?.split(MARKS.end)[1]
  if (before === undefined || after === undefined) throw new Error(`the document lacks the comment ${MARKS.begin}`)
  return `${before}${MARKS.begin}\n\n${printRights()}\n\n${MARKS.end}${after}`
}
