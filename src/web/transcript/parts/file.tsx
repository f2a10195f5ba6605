// A file of a turn: an image of an attachment, or a link. The signed URL of an attachment expires, and is read again.

import { useEffect, useState } from 'react'
import type { Turn } from '../../../client/index.ts'
import { safeUrl } from '../../kit/markdown.tsx'
import { useSession } from '../../session/session.tsx'

export type FilePart = Extract<Turn['parts'][number], { __typename: 'FilePart' }>
type Attachment = NonNullable<FilePart['attachment']>

const READ = `query FileOfTurn($ids: [ID!]!, $as: String) {
  nodes(ids: $ids, as: $as) { ... on Turn { parts { ... on FilePart { attachment { id url expiresAt } } } } } }`

/** Returns the path of a signed URL: the server that sent the page has the file, whatever its public address is. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url, location.href)
  return pathname + search
}

/** Time before the expiry of a URL at which another one is read, ms. */
const EARLY_MS = 30_000

/** The path of an attachment, and a function that reads another one. */
function usePath(turnId: string, { id, url, expiresAt }: Attachment) {
  const { client } = useSession()
  const [fresh, setFresh] = useState({ url, expiresAt })
  useEffect(() => setFresh({ url, expiresAt }), [url])
  async function refresh(): Promise<string | null> {
    const { nodes } = await client.request(READ, { ids: [turnId], as: client.as })
    const parts = (nodes[0]?.parts ?? []) as { attachment?: Attachment | null }[]
    const found = parts.find(({ attachment }) => attachment?.id === id)?.attachment
    if (!found) return null
    setFresh(found)
    return pathOf(found.url)
  }
  const isCurrent = () => Date.parse(fresh.expiresAt) - Date.now() > EARLY_MS
  return { path: pathOf(fresh.url), isCurrent, refresh }
}

/** Height of an image in the transcript, at most, in CSS pixels. */
const MAX_HEIGHT = 240

function AttachedFile({ turnId, part, attachment }: { turnId: string; part: FilePart; attachment: Attachment }) {
  const { path, isCurrent, refresh } = usePath(turnId, attachment)
  const [failures, setFailures] = useState(0)
  const { mediaType, width, height } = attachment
  const name = part.fileName ?? part.caption ?? mediaType
  const isImage = mediaType.startsWith('image/') && width !== null && height !== null && failures < 2
  const scale = Math.min(1, MAX_HEIGHT / (height ?? 1))
  return (
    <p className="file">
      <a
        href={path}
        target="_blank"
        rel="noopener noreferrer"
        dir="auto"
        onClick={(event) => {
          if (isCurrent()) return
          event.preventDefault()
          void refresh().then((current) => current && window.open(current, '_blank', 'noopener'))
        }}
      >
        {isImage ? (
          <img
            src={path}
            alt={part.caption ?? name}
            width={Math.round(width * scale)}
            height={Math.round(height * scale)}
            loading="lazy"
            onError={() => {
              setFailures(failures + 1)
              if (failures === 0) void refresh().catch(() => {})
            }}
          />
        ) : (
          name
        )}
      </a>{' '}
      <span className="muted" dir="auto">
        {isImage ? (part.caption ?? '') : mediaType}
      </span>
    </p>
  )
}

function LinkedFile({ url, fileName, mediaType, caption }: FilePart) {
  const href = safeUrl(url)
  const name = fileName ?? caption ?? (href ?? url).slice(0, 80)
  return (
    <p className="file">
      <span className="muted">File </span>
      {href ? (
        <a href={href} target="_blank" rel="noopener noreferrer nofollow" dir="auto">
          {name}
        </a>
      ) : (
        <span dir="auto">{name}</span>
      )}{' '}
      <span className="muted">{mediaType}</span>
      {caption && fileName && (
        <span className="muted" dir="auto">
          {' '}
          {caption}
        </span>
      )}
    </p>
  )
}

/** A file of the turn. */
export const FileOfTurn = ({ turnId, part }: { turnId: string; part: FilePart }) =>
  part.attachment ? <AttachedFile turnId={turnId} part={part} attachment={part.attachment} /> : <LinkedFile {...part} />
