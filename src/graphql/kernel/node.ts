// Objects that can be read by id alone: the interface, and the queries that read one or several of them. The prefix of
// an id names the type (domain/kernel/id.ts, domain/kernel/derived-id.ts), so ids need no further encoding.

import { getApiKey } from '../../domain/trust/api-key/api-key.ts'
import { derivedKey } from '../../domain/kernel/derived-id.ts'
import { kindOf } from '../../domain/kernel/id.ts'
import { getJob } from '../../domain/background/job/job.ts'
import { getTransfer } from '../../domain/trust/transfer/transfer.ts'
import { getProfiles } from '../../domain/memory/profile/profile.ts'
import { InvalidInput } from '../../errors.ts'
import { asArg } from './as.ts'
import { builder } from './builder.ts'
import { loadApproval, loadConversation, loadFact, loadParticipant, loadRun, loadSummary, loadTurn } from './loaders.ts'
import type { RequestContext } from './request.ts'

/** Maximum number of ids in one `nodes`. */
const MAX_NODES = 100

/** Types by the kind of their ids. */
const TYPES = {
  turn: 'Turn',
  summary: 'Summary',
  fact: 'Fact',
  conversation: 'Conversation',
  key: 'ApiKey',
  run: 'Run',
  approval: 'Approval',
  transfer: 'Transfer',
} as const

/** Types whose ids are derived (domain/kernel/derived-id.ts), by a field that no other of these types has. */
const DERIVED_TYPES = { joinedAt: 'Participant', content: 'UserProfile', attempts: 'Job' } as const

export const Node = builder.interfaceRef<object>('Node').implement({
  description: 'An object that `node` returns by its id.',
  fields: (t) => ({
    // Types without an id column replace this field.
    id: t.expose('id' as never, {
      type: 'ID',
      description:
        'Identifies the object among all objects of all types that the client can read. Begins with a prefix for the '
        + 'type. Not a cursor.',
    }),
  }),
  resolveType(object) {
    const kind = 'id' in object ? kindOf(String(object.id)) : null
    // A context is no Node, because a context that was not stored has no id.
    if (kind !== null && kind in TYPES) return TYPES[kind as keyof typeof TYPES]
    return Object.entries(DERIVED_TYPES).find(([field]) => field in object)?.[1] ?? 'Viewer'
  },
})

/** Returns the object with that id; null if it does not exist or the viewer does not see it. */
async function loadNode(context: RequestContext, id: string): Promise<object | null> {
  switch (kindOf(id)) {
    case 'conversation':
      return loadConversation(context, id)
    case 'turn':
      return loadTurn(context, id)
    case 'summary':
      return loadSummary(context, id)
    case 'fact':
      return loadFact(context, id)
    case 'key':
      return context.work.read(() => getApiKey(context.reading, context.viewer, id))
    case 'approval':
      return loadApproval(context, id)
    case 'run':
      return loadRun(context, id)
    case 'transfer':
      return context.work.read(() => getTransfer(context.reading, context.viewer, id))
    case 'context':
      return null
    case null:
      return loadDerived(context, id)
  }
}

async function loadDerived(context: RequestContext, id: string): Promise<object | null> {
  const { viewer, reading, work } = context
  const key = derivedKey(id)
  switch (key?.kind) {
    case 'participant':
      return loadParticipant(context, key)
    case 'profile': {
      if (key.tenant !== viewer.tenant) return null
      return (await work.read(() => getProfiles(reading, viewer, [key.userId]))).get(key.userId) ?? null
    }
    case 'viewer':
      return key.tenant === viewer.tenant && key.actor === viewer.actor ? viewer : null
    case 'job':
      return work.read(() => getJob(reading, viewer, key.jobId))
    case undefined:
      return null
  }
}

builder.queryField('node', (t) =>
  t.field({
    verb: null,
    type: Node,
    nullable: true,
    description:
      'The object with that id. Null if it does not exist or the viewer does not see it. Does not accept `as`: `nodes` does.',
    // Relay's compiler requires `id` to be the only argument; otherwise no fragment is @refetchable.
    args: { id: t.arg.id({ required: true, description: 'Id of any object that implements Node.' }) },
    resolve: (_, { id }, context) => loadNode(context, id),
  }),
)

builder.queryField('nodes', (t) =>
  t.field({
    verb: null,
    type: [Node],
    nullable: { list: false, items: true },
    description:
      'The objects with these ids, in order. Null for each id whose object does not exist or is not visible to the viewer.',
    args: {
      ids: t.arg.idList({
        required: true,
        description: `Ids of any objects that implement Node; at most ${MAX_NODES}.`,
      }),
      ...asArg(t),
    },
    resolve(_, { ids }, context) {
      if (ids.length > MAX_NODES)
        throw InvalidInput.at('ids', `has ${ids.length} ids; at most ${MAX_NODES} are allowed`)
      return Promise.all(ids.map((id) => loadNode(context, id)))
    },
  }),
)
