// The panels beside a conversation. Each is loaded when it is opened first.

import { lazy, Suspense, useId } from 'react'
import { navigate, PANELS, type PanelName } from '../session/route.ts'
import { Tabs } from '../kit/tabs.tsx'
import { Boundary } from './boundary.tsx'

const LABELS: Record<PanelName, string> = {
  participants: 'People',
  view: 'View as',
  context: 'Context',
  memory: 'Memory',
  journal: 'Journal',
  operations: 'Server',
}

const COMPONENTS = {
  participants: lazy(() => import('../participants/panel.tsx')),
  view: lazy(() => import('../views/panel.tsx')),
  context: lazy(() => import('../context/panel.tsx')),
  memory: lazy(() => import('../memory/panel.tsx')),
  journal: lazy(() => import('../journal/panel.tsx')),
  operations: lazy(() => import('../operations/panel.tsx')),
}

export function Panels({ selected }: { selected: PanelName }) {
  const Panel = COMPONENTS[selected]
  const panelId = useId()
  return (
    <aside className="panels" aria-label="About this conversation">
      <div className="bar">
        <Tabs
          label="Panels"
          tabs={PANELS.map((name) => ({ name, label: LABELS[name] }))}
          selected={selected}
          panelId={panelId}
          onSelect={(panel) => navigate({ panel })}
        />
        <button type="button" className="quiet" aria-label="Close the panel" onClick={() => navigate({ panel: null })}>
          ✕
        </button>
      </div>
      <div className="panel" id={panelId} role="tabpanel" aria-label={LABELS[selected]} tabIndex={-1}>
        <Boundary key={selected}>
          <Suspense fallback={<p className="empty">Loading …</p>}>
            <Panel />
          </Suspense>
        </Boundary>
      </div>
    </aside>
  )
}
