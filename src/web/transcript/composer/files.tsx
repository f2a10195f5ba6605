// The files of the next message: they are uploaded as soon as they are chosen or pasted, and sent with the message.

import { useEffect, useRef, useState } from 'react'
import type { Attachment, ConversationHandle } from '../../../client/index.ts'
import { randomId } from '../../../client/verbs/calls.ts'
import { pathOf } from '../parts/file.tsx'

/** A file of the next message. `attachment`: null until it is uploaded. `error`: why it was refused; null if it was not. */
type ChosenFile = { key: string; name: string; attachment: Attachment | null; error: string | null }

export type ChosenFiles = {
  files: readonly ChosenFile[]
  /** Whether a file is still being uploaded. */
  isUploading: boolean
  add(files: Iterable<File>): void
  remove(key: string): void
  /** Returns the uploaded files, and forgets all of them. */
  take(): Attachment[]
}

/** Keeps the files of the next message of the conversation `id`, until another one is opened. */
export function useChosenFiles(id: string, conversation: ConversationHandle): ChosenFiles {
  const [files, setFiles] = useState<readonly ChosenFile[]>([])
  useEffect(() => () => setFiles([]), [id])
  const change = (key: string, changes: Partial<ChosenFile>) =>
    setFiles((all) => all.map((each) => (each.key === key ? { ...each, ...changes } : each)))
  function add(given: Iterable<File>): void {
    for (const file of given) {
      const key = randomId()
      setFiles((all) => [...all, { key, name: file.name, attachment: null, error: null }])
      conversation.uploadFile(file, { clientId: key }).then(
        (attachment) => change(key, { attachment }),
        (error: unknown) => change(key, { error: error instanceof Error ? error.message : String(error) }),
      )
    }
  }
  return {
    files,
    isUploading: files.some(({ attachment, error }) => attachment === null && error === null),
    add,
    remove: (key) => setFiles((all) => all.filter((each) => each.key !== key)),
    take() {
      setFiles([])
      return files.flatMap(({ attachment }) => attachment ?? [])
    },
  }
}

/** The files of the next message, with their state. */
export function FileList({ files, remove }: ChosenFiles) {
  if (files.length === 0) return null
  return (
    <ul className="plain files" aria-label="Files of the message">
      {files.map(({ key, name, attachment, error }) => (
        <li key={key} className={error === null ? undefined : 'danger'}>
          {attachment?.mediaType.startsWith('image/') && <img src={pathOf(attachment.url)} alt="" />}
          <span dir="auto">{name}</span>{' '}
          <span className="muted" role={error === null ? 'status' : 'alert'}>
            {error ?? (attachment ? '' : 'is being uploaded')}
          </span>
          <button type="button" className="quiet" aria-label={`Remove ${name}`} onClick={() => remove(key)}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  )
}

/** The button that chooses files. */
export function AttachButton({ onFiles, isDisabled }: { onFiles(files: Iterable<File>): void; isDisabled: boolean }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          // The same file can be chosen again.
          target.value = ''
        }}
      />
      <button type="button" className="quiet" disabled={isDisabled} onClick={() => input.current?.click()}>
        Attach
      </button>
    </>
  )
}
