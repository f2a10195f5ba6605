// Who may see the next turn: everybody, some participants, or only its author.

import { useEffect, useId, useRef, useState } from 'react'
import { shorten } from '../../kit/text.ts'
import { useSession } from '../../session/session.tsx'
import { useOpenConversation } from '../../workspace/open-conversation.tsx'
import { toggled } from './readers.ts'

/** `audience`: the actors who may see the turn, besides its author; empty for everybody. */
export function AudiencePicker({
  audience,
  onChange,
}: {
  audience: readonly string[]
  onChange(audience: readonly string[]): void
}) {
  const { present, nameOf } = useOpenConversation()
  const { viewer } = useSession()
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  useEffect(() => {
    if (!isOpen) return
    const close = (event: Event) => root.current?.contains(event.target as Node) || setOpen(false)
    document.addEventListener('pointerdown', close)
    return () => document.removeEventListener('pointerdown', close)
  }, [isOpen])
  const others = present.map(({ actor }) => actor).filter((actor) => actor !== viewer.actor)
  // A reader of a draft may have left since.
  const listed = [...new Set([...others, ...audience, viewer.actor])]
  const labelOf = (actor: string) => (actor === viewer.actor ? 'you' : nameOf(actor))
  return (
    <div
      className="audience"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return
        event.stopPropagation()
        setOpen(false)
        button.current?.focus()
      }}
    >
      <button
        ref={button}
        type="button"
        className={audience.length > 0 ? 'chip private' : 'quiet'}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {audience.length === 0 ? 'To everybody' : `Only to ${shorten(audience.map(labelOf).join(', '), 40)}`} ▾
      </button>
      {isOpen && (
        <fieldset id={id} className="popup">
          <legend>Who may see the message</legend>
          <label className="check">
            <input type="checkbox" checked={audience.length === 0} onChange={() => onChange([])} /> Everybody
          </label>
          {listed.map((actor) => (
            <label className="check" key={actor}>
              <input
                type="checkbox"
                checked={audience.includes(actor)}
                onChange={() => onChange(toggled(audience, actor, viewer.actor))}
              />
              <span dir="auto">{actor === viewer.actor ? 'Only you' : nameOf(actor)}</span>
            </label>
          ))}
        </fieldset>
      )}
    </div>
  )
}
