// The chat providers and runs of the server as viewers may read them: providers without their URLs and keys, and runs
// without the fields that only the engine needs.

import type { NamedProvider } from '../../../providers/ports/chat-providers.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'

export type { NamedProvider }
export { MAX_PROVIDERS } from '../../../providers/chat-registry.ts'

/** Returns the chat providers that runs may name, ordered by name. All tenants have the same providers. */
export function getProviders({ providers }: Pick<Platform, 'providers'>, viewer: Viewer): readonly NamedProvider[] {
  authorize(viewer, 'getProviders')
  return providers.list()
}

/** The fields of a run that viewers may read. */
export type Run = Omit<
  RunRow,
  'tenant' | 'seq' | 'audience' | 'supersedesId' | 'corrected' | 'options' | 'credential' | 'clientHash' | 'holder'
>

export function toRun(row: RunRow): Run {
  const { tenant, seq, audience, supersedesId, corrected, options, credential, clientHash, holder, ...run } = row
  return run
}
