// Objects that can be read by id alone: the interface, and the queries that read one or several of them. The prefix of
// an id names the type (domain/kernel/id.ts, domain/kernel/derived-id.ts), so ids need no further encoding.

import { getApiKey } from '../../domain/trust/api-key/api-key.ts'
import { derivedKey } from '../../domain/kernel/derived-id.ts'
import { kindOf, type Kind } from '../../domain/kernel/id.ts'
import { getJob } from '../../domain/background/job/job.ts'
import { getTransfer } from '../../domain/trust/transfer/transfer.ts'
import { getProfiles } from '../../domain/memory/profile/profile.ts'
import { InvalidInput } from '../../errors.ts'
import { asArg } from './view/named.ts'
import { builder } from './builder.ts'
import {
  loadApproval,
  loadConversation,
  loadFact,
  loadParticipant,
  loadRun,
  loadSharedState,
  loadSummary,
  loadTurn,
} from './loaders.ts'
import type { RequestContext } from './request.ts'

/** Maximum number of ids in one `nodes`. */
const MAX_NODES = 100

/** The types that implement Node. */
type NodeType =
  | 'ApiKey'
  | 'Approval'
  | 'Conversation'
  | 'Fact'
  | 'Job'
  | 'Participant'
  | 'Run'
  | 'SharedState'
  | 'Summary'
  | 'Transfer'
  | 'Turn'
  | 'UserProfile'
  | 'Viewer'

/** The type of each object that was read by its id. */
const typeOf = new WeakMap<object, NodeType>()

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
  resolveType: (object) => typeOf.get(object)!,
})

type Load = (context: RequestContext, id: string) => Promise<object | null>

/** How an object is read, by the kind of its id. A context is no Node: one that was not stored has no id. */
const BY_KIND: Record<Kind, [NodeType, Load] | null> = {
  conversation: ['Conversation', loadConversation],
  turn: ['Turn', loadTurn],
  summary: ['Summary', loadSummary],
  fact: ['Fact', loadFact],
  key: ['ApiKey', ({ work, reading, viewer }, id) => work.read(() => getApiKey(reading, viewer, id))],
  approval: ['Approval', loadApproval],
  run: ['Run', loadRun],
  transfer: ['Transfer', ({ work, reading, viewer }, id) => work.read(() => getTransfer(reading, viewer, id))],
  context: null,
  // An attachment is read with its turn.
  attachment: null,
}

/** Returns the object with that id; null if it does not exist or the viewer does not see it. */
async function loadNode(context: RequestContext, id: string): Promise<object | null> {
  const kind = kindOf(id)
  const [type, load] = (kind === null ? derivedNode(context, id) : BY_KIND[kind]) ?? []
  const object = type && load ? await load(context, id) : null
  if (type && object) typeOf.set(object, type)
  return object
}

/** Returns how the object with a derived id is read; null for another id. */
function derivedNode({ viewer, reading, work }: RequestContext, id: string): [NodeType, Load] | null {
  const key = derivedKey(id)
  switch (key?.kind) {
    case 'participant':
      return ['Participant', (context) => loadParticipant(context, key)]
    case 'state':
      return ['SharedState', (context) => loadSharedState(context, key)]
    case 'profile': {
      const read = async () => (await getProfiles(reading, viewer, [key.userId])).get(key.userId) ?? null
      return key.tenant === viewer.tenant ? ['UserProfile', () => work.read(read)] : null
    }
    case 'viewer':
      return key.tenant === viewer.tenant && key.actor === viewer.actor ? ['Viewer', async () => viewer] : null
    case 'job':
      return ['Job', () => work.read(() => getJob(reading, viewer, key.jobId))]
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
