// The fields of a run that viewers may read: all except the fields that only the engine needs.

import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'

export type Run = Omit<
  RunRow,
  'tenant' | 'seq' | 'audience' | 'corrected' | 'options' | 'credential' | 'clientHash' | 'holder'
>

export function toRun(row: RunRow): Run {
  const { tenant, seq, audience, corrected, options, credential, clientHash, holder, ...run } = row
  return run
}
