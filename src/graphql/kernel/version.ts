// The versions of a turn: the position that they share, and the fields that return the previous and the next version. A
// version that is not an edit is the first one, so its number needs no read.

import { isEdited } from '../../domain/turn/turn.ts'
import { builder } from './builder.ts'
import { loadNextVersion, loadPreviousVersion, loadVersionNumber } from './loaders.ts'

builder.objectFields('Turn', (t) => ({
  position: t.exposeInt('position', {
    description:
      'Position of the turn in the history: the `seq` of its first version. All versions of a turn have the same '
      + 'position, and lists are ordered by it.',
  }),
  version: t.int({
    description:
      'Number of this version among the versions that the viewer sees: 1 for the first version, 2 for the first edit. '
      + 'Versions outside the view are not counted.',
    sharing: 'PER_VIEWER',
    resolve: (turn, _, context) => (isEdited(turn) ? loadVersionNumber(context, turn.id) : 1),
  }),
  isEdited: t.boolean({
    description: 'Whether this version superseded an earlier one. False for the first version of every turn.',
    sharing: 'SHAREABLE',
    resolve: isEdited,
  }),
  supersedes: t.field({
    type: 'Turn',
    nullable: true,
    description: 'The previous version that the viewer sees. Null for the first version.',
    sharing: 'PER_VIEWER',
    resolve: (turn, _, context) => (isEdited(turn) ? loadPreviousVersion(context, turn.id) : null),
  }),
  supersededBy: t.field({
    type: 'Turn',
    nullable: true,
    description: 'The next version that the viewer sees. Null for the newest version.',
    sharing: 'PER_VIEWER',
    resolve: (turn, _, context) => (turn.supersededBy === null ? null : loadNextVersion(context, turn.id)),
  }),
}))
