// The schema: every notion's file, then all of it built. No file that defines types imports this one.

import './append.ts'
import './audit.ts'
import './content.ts'
import './context.ts'
import './conversation.ts'
import './embedding.ts'
import './erasure.ts'
import './errors.ts'
import './event.ts'
import './fact.ts'
import './history.ts'
import './inbox.ts'
import './job.ts'
import './node.ts'
import './participant.ts'
import './presence.ts'
import './profile.ts'
import './recall.ts'
import './scalars.ts'
import './streaming-turn.ts'
import './summary.ts'
import './turn.ts'
import './viewer.ts'
import { builder } from './builder.ts'

/** Sorted by name, as it is printed. */
export const schema = builder.toSchema({ sortSchema: true })
