// The derivatives of what agents do: their runs, and what belongs to them. Part of the register in derivatives.ts.

import { CASCADE, type Derivative } from './derivative.ts'
import { eraseWakeUps } from './erase-steps.ts'

export const AGENT_DERIVATIVES: readonly Derivative[] = [
  {
    table: 'run',
    data: 'Ids of turns, instructions and options that the caller gave, and token counts; no text of turns.',
    onEdit: { how: 'Kept: a run answered the version that was there.' },
    onErase: { how: 'Kept: it then names a turn without content.' },
    onDelete: CASCADE,
  },
  {
    table: 'provider_call',
    data: 'Ids of the turns with replies and results, and their token counts.',
    onEdit: { how: 'Kept: the tokens were used.' },
    onErase: { how: 'Kept: it then names a turn without content.' },
    onDelete: { how: 'Deleted with the runs.', by: 'CASCADE' },
  },
  {
    table: 'token_usage',
    data: "Sums of the tokens of participants' runs by day.",
    onEdit: { how: 'Kept: the tokens were used.' },
    onErase: { how: 'Kept: the sums name no turn.' },
    onDelete: CASCADE,
  },
  {
    table: 'wake_up',
    data: 'Ids of turns that participants are to answer, and of their answers.',
    onEdit: { how: 'Kept: an edit wakes up nobody, and the wake-up is about the turn in all its versions.' },
    onErase: { how: 'Rows about any version are deleted by position.', erase: eraseWakeUps },
    onDelete: CASCADE,
  },
]
