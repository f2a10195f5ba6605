// The text field of the composer, with completion of mentions.

import { useEffect, useLayoutEffect, useState, type KeyboardEvent, type RefObject } from 'react'
import { flushSync } from 'react-dom'
import type { Participant } from '../../../client/index.ts'
import { needText } from '../../session/needs.tsx'
import { useSession } from '../../session/session.tsx'
import { useOpenConversation } from '../../workspace/open-conversation.tsx'
import { completed, completionsOf, typedMention } from './mentions.ts'

/** The names that complete the mention before the cursor. */
function useMention(text: string, cursor: number) {
  const { present } = useOpenConversation()
  const { viewer } = useSession()
  /** The name that was selected by the arrow keys, for the mention `of`. */
  const [chosen, setChosen] = useState({ of: '', index: 0 })
  /** The text at which the person closed the list. */
  const [closedAt, setClosedAt] = useState<string | null>(null)
  const typed = typedMention(text, cursor)
  const people = typed && text !== closedAt ? completionsOf(present, typed.text) : []
  const others = people.filter(({ actor }) => actor !== viewer.actor)
  const of = JSON.stringify(typed)
  return {
    typed,
    people: others,
    selected: Math.min(chosen.of === of ? chosen.index : 0, others.length - 1),
    setSelected: (index: number) => setChosen({ of, index }),
    close: () => setClosedAt(text),
  }
}

function Completions({
  people,
  selected,
  onComplete,
}: {
  people: readonly Participant[]
  selected: number
  onComplete(actor: string): void
}) {
  const { nameOf } = useOpenConversation()
  if (people.length === 0) return null
  return (
    <ul className="plain popup completions" role="listbox" id="mentions" aria-label="People to mention">
      {people.map(({ actor }, index) => (
        <li
          key={actor}
          id={`mention-${index}`}
          role="option"
          aria-selected={index === selected}
          onPointerDown={(event) => {
            event.preventDefault()
            onComplete(actor)
          }}
        >
          <span dir="auto">{nameOf(actor)}</span> <span className="muted">@{actor}</span>
        </li>
      ))}
    </ul>
  )
}

/** Makes the field as high as its text, up to the height that its style allows. */
function fit(field: HTMLTextAreaElement): void {
  field.style.height = 'auto'
  field.style.height = `${field.scrollHeight + 2}px`
}

function useFittedHeight(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => fit(field.current!), [field, text])
  useEffect(() => {
    // A panel can hide the field, which then has no height, and the width of the window changes the line breaks.
    const observer = new ResizeObserver(() => field.current && fit(field.current))
    observer.observe(field.current!.parentElement!)
    return () => observer.disconnect()
  }, [field])
}

/** `onCancel`, `onEditLast`: null if there is nothing to cancel or edit. */
export function MessageField({
  field,
  text,
  label,
  onChange,
  onFiles,
  onSend,
  onCancel,
  onEditLast,
}: {
  field: RefObject<HTMLTextAreaElement | null>
  text: string
  label: string
  onChange(text: string): void
  /** Called with pasted files; null if the message cannot have files. */
  onFiles: ((files: Iterable<File>) => void) | null
  onSend(): void
  onCancel: (() => void) | null
  onEditLast: (() => void) | null
}) {
  const { viewer } = useSession()
  const [cursor, setCursor] = useState(text.length)
  const mention = useMention(text, cursor)
  const mayWrite = viewer.rights.includes('WRITE')
  useFittedHeight(field, text)

  function complete(actor: string): void {
    const next = completed(text, cursor, mention.typed!, actor)
    // The next key may be pressed before the next frame.
    flushSync(() => {
      onChange(next.text)
      setCursor(next.cursor)
    })
    field.current!.setSelectionRange(next.cursor, next.cursor)
  }
  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>): void {
    const { people, selected, setSelected, close } = mention
    // While a word is composed, Enter confirms it.
    if (event.nativeEvent.isComposing) return
    if (people.length > 0) {
      const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
      if (event.key in steps) setSelected((selected + steps[event.key]! + people.length) % people.length)
      else if (event.key === 'Enter' || event.key === 'Tab') complete(people[selected]!.actor)
      else if (event.key === 'Escape') close()
      else return
      return event.preventDefault()
    }
    if (event.key === 'Enter' && !event.shiftKey) onSend()
    else if (event.key === 'Escape' && onCancel) onCancel()
    else if (event.key === 'ArrowUp' && text === '' && onEditLast) onEditLast()
    else return
    event.preventDefault()
  }

  return (
    <>
      <Completions people={mention.people} selected={mention.selected} onComplete={complete} />
      <textarea
        ref={field}
        rows={1}
        value={text}
        dir="auto"
        disabled={!mayWrite}
        aria-label={label}
        placeholder={mayWrite ? 'Say something. @ mentions somebody.' : needText('WRITE', 'write')}
        aria-autocomplete="list"
        aria-controls={mention.people.length > 0 ? 'mentions' : undefined}
        aria-activedescendant={mention.people.length > 0 ? `mention-${mention.selected}` : undefined}
        onChange={(event) => {
          onChange(event.target.value)
          setCursor(event.target.selectionStart)
        }}
        onPaste={(event) => {
          const { files } = event.clipboardData
          if (!onFiles || files.length === 0) return
          event.preventDefault()
          onFiles([...files])
        }}
        onSelect={(event) => setCursor(event.currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
      />
    </>
  )
}
