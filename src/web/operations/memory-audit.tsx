// The quality of the stored facts, in figures.

import { useLoad } from '../kit/load.ts'
import { Empty, Failure } from '../kit/notice.tsx'
import { formatNumber, percentOf } from '../kit/text.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { READ_MEMORY, type MemoryAudit as Audit } from './requests.ts'
import { durationOf } from './words.ts'

/** Returns the rows of the table: the figure, its value, and what it means. */
const rowsOf = (audit: Audit): readonly (readonly [name: string, value: string, meaning: string])[] => [
  ['Active facts', formatNumber(audit.activeFacts), 'Facts that are not superseded'],
  ['Superseded facts', formatNumber(audit.supersededFacts), 'Merged, contradicted or retracted; kept with the reason'],
  [
    'Repetitions',
    `${formatNumber(audit.exactDuplicatesSkipped)} (${percentOf(audit.exactDuplicateRate, 1)})`,
    'Assertions of a fact that was already stored',
  ],
  ['Near duplicates', percentOf(audit.nearDuplicateRate, 1), 'Sampled facts that say the same in other words'],
  ['Contradictions', formatNumber(audit.openContradictions), 'In the sample, not reconciled yet'],
  ['Never recalled', percentOf(audit.neverRecalledRate, 1), 'Active facts that no recall or context has returned'],
  ['Waiting jobs', formatNumber(audit.waitingJobs), 'Background jobs that wait for an attempt'],
  [
    'Oldest waiting job',
    audit.queueAgeSeconds === null ? '–' : durationOf(audit.queueAgeSeconds),
    'How long it has waited',
  ],
]

function Figures() {
  const { client } = useSession()
  const { value, error, isLoading, reload } = useLoad(
    async (signal) => (await client.request<{ memoryAudit: Audit }>(READ_MEMORY, {}, { signal })).memoryAudit,
    'audit',
  )
  return (
    <div className="stack">
      <div className="row">
        <h3>Memory audit</h3>
        <button type="button" onClick={reload} disabled={isLoading}>
          {isLoading ? 'Measuring …' : 'Measure again'}
        </button>
      </div>
      <Failure error={error} onRetry={reload} />
      {!value && !error && <Empty>Measuring …</Empty>}
      {value && (
        <table>
          <thead>
            <tr>
              <th scope="col">Figure</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {rowsOf(value).map(([name, figure, meaning]) => (
              <tr key={name}>
                <th scope="row">
                  {name}
                  <span className="hint">{meaning}</span>
                </th>
                <td className="number">{figure}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}

export const MemoryAudit = () => (
  <Needs right="OPERATE" purpose="measure the quality of the memory">
    <Figures />
  </Needs>
)
