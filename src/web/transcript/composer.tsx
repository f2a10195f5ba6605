// The form for the next turn, with its audience and the turn that it answers. Also the form for the newer version of a
// turn.

import { useEffect, useRef, useState } from 'react'
import type { Turn } from '../../client/index.ts'
import { useAction } from '../kit/load.ts'
import { Failure } from '../kit/notice.tsx'
import { shorten } from '../kit/text.ts'
import { readDraft, storeDraft } from '../session/credentials.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { isEditable } from './actions.ts'
import { AudiencePicker } from './audience.tsx'
import { MessageField } from './message-field.tsx'
import { usePresence } from './presence.ts'

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

/** The text of the form: the draft of the conversation, or that of the turn that is edited, which leaves the draft alone. */
function useText(task: Task): [text: string, setText: (text: string) => void] {
  const { id } = useOpenConversation()
  const { actor } = useSession().viewer
  const [draft, setDraft] = useState(() => readDraft(actor, id))
  const [edited, setEdited] = useState<{ task: Task; text: string } | null>(null)
  useEffect(() => storeDraft(actor, id, draft), [actor, id, draft])
  if (task?.kind !== 'edit') return [draft, setDraft]
  return [edited?.task === task ? edited.text : task.turn.text, (text) => setEdited({ task, text })]
}

export function Composer({ task, onTask }: { task: Task; onTask(task: Task): void }) {
  const { conversation, transcript } = useOpenConversation()
  const session = useSession()
  const [text, setText] = useText(task)
  const [audience, setAudience] = useState<readonly string[]>([])
  const field = useRef<HTMLTextAreaElement>(null)
  const { typed, stopped } = usePresence()
  const isEdit = task?.kind === 'edit'
  const mayWrite = session.viewer.rights.includes('WRITE')

  useEffect(() => {
    // A reply to a private turn goes to those who see it.
    if (task?.kind === 'reply' && task.turn.audience) {
      const to = [...new Set([...task.turn.audience, task.turn.actor])]
      setAudience(to.filter((actor) => actor !== session.viewer.actor))
    }
    if (task) field.current?.focus()
  }, [task])

  const edit = useAction(async () => {
    await conversation.edit(task!.turn, text)
    onTask(null)
  })
  function send(): void {
    if (text.trim() === '' || !mayWrite) return
    if (isEdit) return void edit.run()
    const turn = { content: text, audience: audience.length > 0 ? [...audience] : undefined, replyToId: task?.turn.id }
    // The transcript shows a turn that could not be sent, and offers to send it again.
    conversation.append(turn).catch(() => {})
    setText('')
    stopped()
    onTask(null)
  }
  function editLast(): void {
    const own = transcript.turns.findLast((turn) => isEditable(turn, session))
    if (own) onTask({ kind: 'edit', turn: own })
  }

  return (
    <form
      className={`composer ${audience.length > 0 ? 'whisper' : ''}`}
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      {task && <TaskBar task={task} onEnd={() => onTask(null)} />}
      <Failure error={isEdit ? edit.error : null} />
      <MessageField
        field={field}
        text={text}
        label={isEdit ? 'The new text of the message' : 'Message'}
        onChange={(next) => {
          setText(next)
          typed()
        }}
        onSend={send}
        onCancel={task && (() => onTask(null))}
        onEditLast={task ? null : editLast}
      />
      <div className="bar">
        {isEdit ? <span /> : <AudiencePicker audience={audience} onChange={setAudience} />}
        <button type="submit" className="primary" disabled={!mayWrite || text.trim() === '' || edit.isRunning}>
          {isEdit ? 'Save' : 'Send'}
        </button>
      </div>
    </form>
  )
}
