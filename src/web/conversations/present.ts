// Who is online in the listed conversations.

import type { ListedConversation } from '../../client/index.ts'
import { useLoad } from '../kit/load.ts'
import { useTicks } from '../kit/visible.ts'
import { useSession } from '../session/session.tsx'

const READ_PRESENT = `query Present($as: String, $actor: String!) {
  conversations(as: $as, first: 50, filter: { participant: $actor }, orderBy: UPDATED_AT) {
    nodes { id participants(first: 20) { nodes { actor displayName presence } } }
  }
}`
type Answer = {
  conversations: {
    nodes: { id: string; participants: { nodes: { actor: string; displayName: string | null; presence: string }[] } }[]
  }
}

/** Time after which presence is read again, ms. */
const EVERY_MS = 20_000

/** Returns the names of the others who are online, by the id of the conversation. Read anew every 20 s. */
export function usePresent(conversations: readonly ListedConversation[]): ReadonlyMap<string, readonly string[]> {
  const { client, viewer } = useSession()
  const ticks = useTicks(EVERY_MS)
  const { value } = useLoad(
    async (signal) => {
      const variables = { as: client.as, actor: viewer.actor }
      const { conversations: found } = await client.request<Answer>(READ_PRESENT, variables, { signal })
      return found.nodes.map(({ id, participants }): [string, string[]] => [
        id,
        participants.nodes
          .filter(({ actor, presence }) => presence !== 'OFFLINE' && presence !== 'AWAY' && actor !== viewer.actor)
          .map(({ actor, displayName }) => displayName ?? actor),
      ])
    },
    conversations.length === 0 ? null : [ticks, conversations.length],
  )
  return new Map(value ?? [])
}
