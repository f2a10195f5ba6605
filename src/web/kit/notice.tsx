// Messages to the person, which screen readers announce.

import type { ReactNode } from 'react'

/** An error is announced at once, any other message when the person is idle. */
export const Notice = ({ kind = 'info', children }: { kind?: 'info' | 'error' | 'success'; children: ReactNode }) => (
  <div className={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
    {children}
  </div>
)

/** The failure of a call, with a button that repeats it; nothing if there is none. */
export function Failure({ error, onRetry }: { error: string | null; onRetry?: (() => void) | undefined }) {
  if (error === null) return null
  return (
    <Notice kind="error">
      {error}{' '}
      {onRetry && (
        <button type="button" className="link" onClick={onRetry}>
          Try again
        </button>
      )}
    </Notice>
  )
}

/** What a list shows when it has no items. */
export const Empty = ({ children }: { children: ReactNode }) => <p className="empty">{children}</p>
