// Two contexts side by side: their bars, the tokens of each kind of section, and the sources that only one has.

import type { Client } from '../../client/index.ts'
import { countOf, formatNumber } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { Bar, Swatch } from './bar.tsx'
import { compare, type ComparedKind } from './comparison.ts'
import type { Built } from './read-context.ts'
import { KINDS, sectionsOf } from './sections.ts'
import { describe } from './settings.ts'
import { LoadedSourceList } from './sources/source-list.tsx'
import type { SourceRef } from './sources/sources.ts'

/** Returns a difference with its sign, `±0` for none. */
const signed = (difference: number): string =>
  difference === 0 ? '±0' : `${difference > 0 ? '+' : '−'}${formatNumber(Math.abs(difference))}`

const Tokens = ({ before, now }: { before: number; now: number }) => (
  <>
    <td>{formatNumber(before)}</td>
    <td>{formatNumber(now)}</td>
    <td>{signed(now - before)}</td>
  </>
)

function KindTable({ kinds, before, now }: { kinds: readonly ComparedKind[]; before: number; now: number }) {
  return (
    <table className="number">
      <thead>
        <tr>
          <th scope="col">Tokens</th>
          <th scope="col">Before</th>
          <th scope="col">Now</th>
          <th scope="col">Change</th>
        </tr>
      </thead>
      <tbody>
        {kinds.map(({ kind, ...tokens }, index) => (
          <tr key={kind}>
            <th scope="row">
              <Swatch kind={kind} number={index + 1} /> {KINDS[kind]}
            </th>
            <Tokens {...tokens} />
          </tr>
        ))}
        <tr>
          <th scope="row">Whole context</th>
          <Tokens before={before} now={now} />
        </tr>
      </tbody>
    </table>
  )
}

/** `client`: client of the actor whose context has the sources. */
function Differences({
  title,
  client,
  actor,
  sources,
}: {
  title: string
  client: Client
  actor: string
  sources: readonly (SourceRef & { from?: SourceRef['kind'] })[]
}) {
  const byId = new Map(sources.map((source) => [source.id, source]))
  if (sources.length === 0) return null
  return (
    <section>
      <h4>
        {title}: {countOf(sources.length, 'source')}
      </h4>
      <LoadedSourceList
        client={client}
        actor={actor}
        sources={sources}
        note={(id) => {
          const { kind, from } = byId.get(id)!
          return <span className="chip">{from ? `${KINDS[from]} → ${KINDS[kind]}` : KINDS[kind]}</span>
        }}
      />
    </section>
  )
}

export function Compare({ before, now, onEnd }: { before: Built; now: Built; onEnd(): void }) {
  const { clientOf } = useSession()
  const { nameOf } = useOpenConversation()
  const { kinds, gained, lost, moved } = compare(before.context, now.context)
  const scale = Math.max(before.context.tokenBudget, now.context.tokenBudget)
  const actor = now.settings.actor
  return (
    <section className="card stack" aria-label="Comparison">
      <div className="bar">
        <h3>Comparison</h3>
        <button type="button" className="quiet small" onClick={onEnd}>
          End comparison
        </button>
      </div>
      {[
        { built: before, when: 'Before' },
        { built: now, when: 'Now' },
      ].map(({ built, when }) => (
        <div key={when}>
          <p className="muted">
            <strong>{when}</strong>: <bdi>{nameOf(built.settings.actor)}</bdi> · <bdi>{describe(built.settings)}</bdi>
          </p>
          <Bar
            label={when}
            sections={sectionsOf(built.context)}
            used={built.context.tokenCount}
            budget={built.context.tokenBudget}
            scale={scale}
            stable={null}
            numberOf={({ kind }) => kinds.findIndex((each) => each.kind === kind) + 1}
          />
        </div>
      ))}
      <KindTable kinds={kinds} before={before.context.tokenCount} now={now.context.tokenCount} />
      {gained.length + lost.length + moved.length === 0 && <p className="muted">Both have the same sources.</p>}
      <Differences title="Gained" client={clientOf(actor)} actor={actor} sources={gained} />
      <Differences title="Lost" client={clientOf(before.settings.actor)} actor={before.settings.actor} sources={lost} />
      <Differences title="In another section" client={clientOf(actor)} actor={actor} sources={moved} />
    </section>
  )
}
