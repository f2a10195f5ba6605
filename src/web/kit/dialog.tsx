// A modal dialog. The browser traps the focus in it, restores the focus afterwards, and closes it on Escape.

import { useId, useLayoutEffect, useRef, type ReactNode } from 'react'

const FIELDS = 'input, select, textarea'

/**
 * `onClose`: called by the button ✕, by Escape and by a press beside the dialog; null while none of them may close it.
 * The focus is then on the first control of the content.
 */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: (() => void) | null
  children: ReactNode
}) {
  const element = useRef<HTMLDialogElement>(null)
  /** Whether the pointer was pressed beside the dialog: a selection of text may only end there. */
  const isBeside = useRef(false)
  const id = useId()
  // A layout effect ends before React removes the element. The browser would not restore the focus after that.
  useLayoutEffect(() => {
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
      closedby={onClose ? undefined : 'none'}
      onCancel={(event) => {
        // React removes the dialog.
        event.preventDefault()
        onClose?.()
      }}
      onClose={() => {
        // The event of a removed dialog arrives later.
        if (!element.current) return
        // A browser that does not know `closedby` closes the dialog on a second Escape, even if the first was
        // prevented.
        if (onClose) onClose()
        else element.current.showModal()
      }}
      onPointerDown={({ target }) => {
        isBeside.current = target === element.current
      }}
      onClick={({ target }) => isBeside.current && target === element.current && onClose?.()}
    >
      <div className="dialog">
        <header>
          <h2 id={id}>{title}</h2>
          <button
            type="button"
            className="quiet"
            aria-label="Close"
            // Hidden without a change of the layout.
            style={{ visibility: onClose ? undefined : 'hidden' }}
            onClick={onClose ?? undefined}
          >
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}
