// Shows a notice in place of a part of the page that fails, for example because its file is gone after an upgrade of
// the server, so that the other parts stay.

import { Component, type ReactNode } from 'react'
import { Notice } from '../kit/notice.tsx'

export class Boundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children
    return (
      <Notice kind="error">
        This part of the page could not be loaded.{' '}
        <button type="button" className="link" onClick={() => location.reload()}>
          Reload the page
        </button>
      </Notice>
    )
  }
}
