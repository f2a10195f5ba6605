// A modal dialog. The browser traps the focus in it, restores the focus afterwards, and closes it on Escape.

import { useEffect, useId, useRef, type ReactNode } from 'react'

const FIELDS = 'input, select, textarea'

export function Dialog({ title, onClose, children }: { title: string; onClose(): void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null)
  /** Whether the pointer was pressed beside the dialog: a selection of text may only end there. */
  const isBeside = useRef(false)
  const id = useId()
  useEffect(() => {
    const dialog = element.current!
    dialog.showModal()
    // The browser has focused the button that closes the dialog, because that comes first.
    dialog.querySelector<HTMLElement>(FIELDS)?.focus()
    return () => dialog.close()
  }, [])
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        // React removes the dialog.
        event.preventDefault()
        onClose()
      }}
      onPointerDown={({ target }) => {
        isBeside.current = target === element.current
      }}
      onClick={({ target }) => isBeside.current && target === element.current && onClose()}
    >
      <div className="dialog">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}
