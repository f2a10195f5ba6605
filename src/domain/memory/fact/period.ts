// The period in which a fact is true: from `validFrom` to `validTo`, the latter excluded. Decides which facts are about
// the same time, so that "lived in Rome from 2019 to 2021" neither repeats nor contradicts "lives in Lisbon". Pure.

/** A fact's own statement of its period. Null if it was not stated. */
export type Period = { validFrom: Date | null; validTo: Date | null }

type Observed = Period & { observedAt: Date }

/** A period in milliseconds since the epoch, `to` excluded. */
export type Span = { from: number; to: number }

/**
 * Returns the span of a fact. A fact without `validFrom` is true from when it was observed, or without a beginning if it
 * had ended by then; a fact without `validTo` has no end.
 */
export function spanOf({ validFrom, validTo, observedAt }: Observed): Span {
  const to = validTo?.getTime() ?? Infinity
  const observed = observedAt.getTime()
  return { from: validFrom?.getTime() ?? (observed < to ? observed : -Infinity), to }
}

/** Whether a fact had ended at a time. */
export const hadEnded = ({ validTo }: Pick<Period, 'validTo'>, at: Date): boolean => validTo !== null && validTo <= at

const byStart = (a: Span, b: Span) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0)

/** Whether the spans have a time in common. */
export const overlap = (a: Span, b: Span): boolean => a.from < b.to && b.from < a.to

/**
 * Returns the spans of facts with the same statement. A fact without `validTo` ends with the first `validTo` of the
 * others after the time at which it is known to be true.
 */
function spansOf(facts: readonly Observed[]): Span[] {
  const ends = facts.flatMap(({ validTo }) => validTo?.getTime() ?? []).sort((a, b) => a - b)
  return facts.map((fact) => {
    const { from, to } = spanOf(fact)
    const known = Math.max(from, fact.observedAt.getTime())
    return { from, to: fact.validTo === null ? (ends.find((end) => end > known) ?? to) : to }
  })
}

const hasPeriod = ({ validFrom, validTo }: Period) => validFrom !== null || validTo !== null

/**
 * Splits facts with the same statement into those that are true at connected times. A less trusted fact with a period of
 * its own is not put together with a more trusted one, whose period it would change. Facts keep their order within a
 * part. Once each part is merged, another split changes nothing.
 */
export function connected<T extends Observed & { trust: number }>(facts: readonly T[]): T[][] {
  if (!facts.some(hasPeriod)) return [[...facts]]
  const most = Math.max(...facts.map(({ trust }) => trust))
  const isApart = (fact: T) => fact.trust < most && hasPeriod(fact)
  const parts = connectedBySpan(facts.filter((fact) => !isApart(fact)))
  const trusted = parts.filter((part) => part.some(({ trust }) => trust === most))
  const done = new Set(trusted.flat())
  const others = facts.filter((fact) => !done.has(fact))
  return [...trusted, ...(others.length > 0 ? connected(others) : [])]
}

function connectedBySpan<T extends Observed>(facts: readonly T[]): T[][] {
  const spans = spansOf(facts)
  const parts: number[] = []
  let [part, end] = [-1, -Infinity]
  for (const index of [...facts.keys()].sort((a, b) => byStart(spans[a]!, spans[b]!))) {
    const { from, to } = spans[index]!
    if (part < 0 || from >= end) part += 1
    end = Math.max(end, to)
    parts[index] = part
  }
  return [...new Set(parts)].map((each) => facts.filter((_, index) => parts[index] === each))
}

/** Returns the span in which facts of one part (`connected`) are true, and the period that they state together. */
export function combine(facts: readonly Observed[]): { span: Span; period: Period } {
  const spans = spansOf(facts)
  const span = { from: Math.min(...spans.map(({ from }) => from)), to: Math.max(...spans.map(({ to }) => to)) }
  const starts = facts.flatMap(({ validFrom }) => validFrom?.getTime() ?? [])
  const period = {
    validFrom: starts.length > 0 ? new Date(Math.min(...starts)) : null,
    validTo: Number.isFinite(span.to) ? new Date(span.to) : null,
  }
  return { span, period }
}

/**
 * Returns when the fact ended that another one contradicts: when the other became true. Null if it had ended before, or
 * if it was not true before that.
 */
export function endOf(contradicted: Observed, by: Span): Date | null {
  const { from, to } = spanOf(contradicted)
  return from < by.from && by.from < to ? new Date(by.from) : null
}
