// The part of the register in derivatives.ts for agents: runs, calls of providers, approvals, wake-ups and claims.

import { CASCADE, type Derivative } from './derivative.ts'
import { eraseApprovals, eraseWakeUps, expireClaims } from './erase-steps.ts'

export const AGENT_DERIVATIVES: readonly Derivative[] = [
  {
    table: 'run',
    data:
      'Ids of turns, token counts and, until the run ends, the instructions and options that the caller passed; no '
      + 'text of turns. Erasing a user deletes the options of its runs.',
    onEdit: { how: 'Kept: a run answered the version that existed then.' },
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
    table: 'approval',
    data: 'Ids and hashes of tool calls of runs; the edited arguments and the reason of the decision about each.',
    onEdit: { how: 'Kept: a turn whose call waits or was decided about cannot be superseded.' },
    onErase: {
      how:
        'A pending approval is cancelled, with an entry APPROVAL_RESOLVED; edited_arguments, reason and call_hash are '
        + 'set to null. The first two are also set to null when the user who decided is erased. If the run has not '
        + 'ended, a call with edited arguments is then cancelled, because its arguments are lost.',
      erase: eraseApprovals,
    },
    onDelete: CASCADE,
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
    data: 'Ids of turns that wait for the answers of participants, and ids of these answers.',
    onEdit: { how: 'Kept: an edit wakes up no participant, and a wake-up applies to all versions of a turn.' },
    onErase: { how: 'Rows about any version are deleted by position.', erase: eraseWakeUps },
    onDelete: CASCADE,
  },
  {
    table: 'claim',
    data: 'The turn, the actor and the expiry of a claim, a hash of its token, and the id of the turn that answered.',
    onEdit: { how: 'Kept: a claim applies to all versions of a turn.' },
    onErase: {
      how: 'Kept: it names turns without content. A claim that an erased open turn keeps expires.',
      erase: expireClaims,
    },
    onDelete: CASCADE,
  },
]
