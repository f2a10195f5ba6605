// The server, for operators: jobs, audits, keys, settings, retention, erasure.

import { useId } from 'react'
import { Tabs } from '../kit/tabs.tsx'
import { useKept } from '../session/kept.ts'
import { AuditLog } from './audit-log.tsx'
import { Erasure } from './erasure.tsx'
import { Jobs } from './jobs.tsx'
import { Keys } from './keys.tsx'
import { MemoryAudit } from './memory-audit.tsx'
import { Retention } from './retention.tsx'
import { Settings } from './settings.tsx'

const VIEWS = {
  jobs: { label: 'Jobs', View: Jobs },
  memory: { label: 'Memory audit', View: MemoryAudit },
  audit: { label: 'Audit log', View: AuditLog },
  keys: { label: 'Keys', View: Keys },
  settings: { label: 'Settings', View: Settings },
  retention: { label: 'Retention', View: Retention },
  erasure: { label: 'Erasure', View: Erasure },
}
type ViewName = keyof typeof VIEWS

const TABS = Object.entries(VIEWS).map(([name, { label }]) => ({ name: name as ViewName, label }))

export default function Panel() {
  const [{ selected }, change] = useKept<{ selected: ViewName }>('operations', { selected: 'jobs' })
  const panelId = useId()
  const { label, View } = VIEWS[selected]
  return (
    <div className="operations">
      <Tabs
        label="Server"
        tabs={TABS}
        selected={selected}
        panelId={panelId}
        onSelect={(name) => change({ selected: name })}
      />
      <div id={panelId} role="tabpanel" aria-label={label}>
        <View />
      </div>
    </div>
  )
}
