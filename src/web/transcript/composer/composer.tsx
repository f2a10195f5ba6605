// The form for the next turn, with its audience and the turn that it answers. Also the form for the newer version of a
// turn.

import { useEffect, useRef, useState, type Dispatch, type ReactNode, type SetStateAction } from 'react'
import type { Attachment, Turn } from '../../../client/index.ts'
import { randomId } from '../../../client/verbs/calls.ts'
import { useAction } from '../../kit/load.ts'
import { Failure } from '../../kit/notice.tsx'
import { useStore } from '../../kit/store.ts'
import { shorten } from '../../kit/text.ts'
import { followSending, returnToDraft, useDraft, useUnsentWarning } from '../../session/drafts.ts'
import { useSession } from '../../session/session.tsx'
import { useOpenConversation } from '../../workspace/open-conversation.tsx'
import { isEditable } from '../actions.ts'
import { AudiencePicker } from './audience.tsx'
import { AttachButton, FileList, useChosenFiles } from './files.tsx'
import { MessageField } from './message-field.tsx'
import { usePresence } from './presence.ts'
import { audienceOfReply } from './readers.ts'

/** What the form is for: a reply to a turn, a newer version of one, or neither. */
export type Task = { kind: 'reply' | 'edit'; turn: Turn } | null

function TaskBar({ task, onEnd }: { task: NonNullable<Task>; onEnd(): void }) {
  const { nameOf } = useOpenConversation()
  return (
    <div className="task">
      <span dir="auto">
        {task.kind === 'edit' ? 'Editing' : `Reply to ${nameOf(task.turn.actor)}`}: {shorten(task.turn.text, 60)}
      </span>
      <button type="button" className="quiet" aria-label="Cancel" onClick={onEnd}>
        ✕
      </button>
    </div>
  )
}

/** The text of the form: that of the draft, or that of the turn that is edited, which leaves the draft alone. */
function useText(task: Task, draft: string, setDraft: (text: string) => void) {
  const [edited, setEdited] = useState<{ task: Task; text: string } | null>(null)
  if (task?.kind !== 'edit') return [draft, setDraft] as const
  const text = edited?.task === task ? edited.text : task.turn.text
  return [text, (next: string) => setEdited({ task, text: next })] as const
}

/**
 * Keeps the messages that are not sent: asks before the page is closed, and drafts them if the credential is refused.
 */
function useUnsent(): void {
  const { id, transcript } = useOpenConversation()
  const { viewer, connection } = useSession()
  const { pending } = transcript
  useUnsentWarning(pending.length > 0)
  const isRefused = useStore(connection).reason?.code === 'UNAUTHENTICATED'
  useEffect(() => {
    if (!isRefused) return
    const messages = pending.map(({ clientId, turn }) => ({
      clientId,
      text: turn.content ?? '',
      audience: turn.audience ?? [],
    }))
    returnToDraft(viewer.actor, id, messages)
  }, [isRefused])
}

/** Returns the content of a message with files, or of one without. */
const contentOf = (text: string, files: readonly Attachment[]) =>
  files.length === 0
    ? { content: text }
    : {
        parts: [
          ...(text.trim() === '' ? [] : [{ text }]),
          ...files.map(({ id: attachmentId }) => ({ file: { attachmentId } })),
        ],
      }

/** The buttons of the form. `children`: those for a new message. */
const Bar = ({ isEdit, canSend, children }: { isEdit: boolean; canSend: boolean; children: ReactNode }) => (
  <div className="bar">
    <div>{!isEdit && children}</div>
    <button type="submit" className="primary" disabled={!canSend}>
      {isEdit ? 'Save' : 'Send'}
    </button>
  </div>
)

export function Composer({ task, onTask }: { task: Task; onTask: Dispatch<SetStateAction<Task>> }) {
  const { id, conversation, transcript, jumpTo } = useOpenConversation()
  const session = useSession()
  const { actor, rights } = session.viewer
  const [{ text: drafted, audience }, setDraft] = useDraft(actor, id)
  const [text, setText] = useText(task, drafted, (next) => setDraft({ text: next }))
  const field = useRef<HTMLTextAreaElement>(null)
  const chosen = useChosenFiles(id, conversation)
  const { typed, stopped } = usePresence()
  const isEdit = task?.kind === 'edit'
  const mayWrite = rights.includes('WRITE')
  useUnsent()

  const edit = useAction(async (edited: NonNullable<Task>, next: string) => {
    await conversation.edit(edited.turn, next)
    // The person may have begun something else.
    onTask((current) => (current === edited ? null : current))
  })
  useEffect(() => {
    edit.clear()
    if (!task) return
    const readers = task.kind === 'reply' && audienceOfReply(task.turn, actor)
    if (readers) setDraft({ audience: readers })
    field.current?.focus()
  }, [task])

  const isEmpty = text.trim() === '' && (isEdit || !chosen.files.some(({ attachment }) => attachment !== null))
  const canSend = !isEmpty && mayWrite && !edit.isRunning && !chosen.isUploading

  function send(): void {
    if (!canSend) return
    // The button is disabled then.
    field.current?.focus()
    if (isEdit) return void edit.run(task, text)
    const message = { clientId: randomId(), text, audience: [...audience] }
    const content = contentOf(text, chosen.take())
    const turn = { clientId: message.clientId, ...content, replyToId: task?.turn.id }
    const call = conversation.append({ ...turn, audience: audience.length > 0 ? message.audience : undefined })
    void followSending(actor, id, message, call)
    setText('')
    stopped()
    onTask(null)
    jumpTo(null)
  }
  function editLast(): void {
    const own = transcript.turns.findLast((turn) => isEditable(turn, session))
    if (own) onTask({ kind: 'edit', turn: own })
  }
  function endTask(): void {
    onTask(null)
    field.current?.focus()
  }

  return (
    <form
      className={`composer ${audience.length > 0 ? 'whisper' : ''}`}
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      {task && <TaskBar task={task} onEnd={endTask} />}
      <Failure error={edit.error} />
      {!isEdit && <FileList {...chosen} />}
      <MessageField
        field={field}
        text={text}
        label={isEdit ? 'The new text of the message' : 'Message'}
        onChange={(next) => {
          setText(next)
          typed()
        }}
        onFiles={isEdit ? null : chosen.add}
        onSend={send}
        onCancel={task && endTask}
        onEditLast={task ? null : editLast}
      />
      <Bar isEdit={isEdit} canSend={canSend}>
        <AudiencePicker audience={audience} onChange={(next) => setDraft({ audience: next })} />
        <AttachButton onFiles={chosen.add} isDisabled={!mayWrite} />
      </Bar>
    </form>
  )
}
