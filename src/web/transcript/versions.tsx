// The versions of an edited turn, newest first.

import type { Turn } from '../../client/index.ts'
import { Dialog } from '../kit/dialog.tsx'
import { useLoad } from '../kit/load.ts'
import { Failure, Notice } from '../kit/notice.tsx'
import { Markdown } from '../kit/markdown.tsx'
import { dateOf } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'

type Version = { id: string; version: number; text: string; createdAt: string; supersedes: { id: string } | null }
const READ_VERSION = `query Version($id: ID!, $as: String) {
  nodes(ids: [$id], as: $as) { ... on Turn { id version text createdAt supersedes { id } } }
}`
/** Maximum number of versions that are shown. */
const MAX_VERSIONS = 20

export function Versions({ turn, onClose }: { turn: Turn; onClose(): void }) {
  const { client } = useSession()
  const { value, error, isLoading } = useLoad(async (signal) => {
    const versions: Version[] = []
    for (let id: string | null = turn.id; id !== null && versions.length < MAX_VERSIONS;) {
      const { nodes }: { nodes: (Version | null)[] } = await client.request(
        READ_VERSION,
        { id, as: client.as },
        { signal },
      )
      if (nodes[0]) versions.push(nodes[0])
      id = nodes[0]?.supersedes?.id ?? null
    }
    return versions
  }, turn.id)
  return (
    <Dialog title="Versions of this message" onClose={onClose}>
      <Failure error={error} />
      {isLoading && <Notice>Loading …</Notice>}
      <ol className="plain stack">
        {value?.map(({ id, version, text, createdAt }) => (
          <li key={id} className="card">
            <h3>
              Version {version}, {dateOf(createdAt)}
            </h3>
            <Markdown text={text} />
          </li>
        ))}
      </ol>
    </Dialog>
  )
}
