// A dialog with a form. Its button starts an action, and the dialog closes once the action has succeeded. While the
// action runs, it cannot be closed, because that would not stop the action.

import { useRef, type FormEvent, type ReactNode } from 'react'
import { Dialog } from './dialog.tsx'
import { useAction } from './load.ts'
import { Failure } from './notice.tsx'

/**
 * `verb`: label of the button. `act`: the action, which receives the fields by their names. `isBlocked`: whether the
 * action cannot be started yet.
 */
export function FormDialog({
  title,
  verb,
  act,
  onClose,
  isDangerous = false,
  isBlocked = false,
  children,
}: {
  title: string
  verb: string
  act(data: FormData): Promise<unknown>
  onClose(): void
  isDangerous?: boolean
  isBlocked?: boolean
  children: ReactNode
}) {
  const { run, error, isRunning } = useAction(act)
  const form = useRef<HTMLFormElement>(null)
  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const hasSucceeded = await run(new FormData(event.currentTarget))
    // Another dialog may have replaced this one.
    if (hasSucceeded && form.current) onClose()
  }
  return (
    <Dialog title={title} onClose={isRunning ? null : onClose}>
      <form className="stack" ref={form} onSubmit={(event) => void submit(event)}>
        {children}
        <Failure error={error} />
        <div className="row">
          <button type="submit" className={isDangerous ? 'dangerous' : 'primary'} disabled={isRunning || isBlocked}>
            {isRunning ? 'Sending …' : verb}
          </button>
          <button type="button" onClick={onClose} disabled={isRunning}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** Returns the text of a field, without blanks around it. */
export const textOf = (data: FormData, name: string): string => String(data.get(name) ?? '').trim()
