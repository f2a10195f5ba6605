// The bar of a context: its sections side by side, each as wide as its share of the budget.

import type { CSSProperties } from 'react'
import type { ContextItemKind } from '../../client/index.ts'
import { formatNumber } from '../kit/text.ts'
import type { Section } from './sections.ts'

/** The number and the pattern of a section, in the bar and in the list below it. */
export const Swatch = ({ kind, number }: { kind: ContextItemKind; number: number }) => (
  <span className={`swatch section-${kind.toLowerCase()}`} aria-hidden="true">
    <span>{number}</span>
  </span>
)

const share = (tokens: number, scale: number) => ({ '--share': tokens / scale }) as CSSProperties

/**
 * `scale`: number of tokens that fills the width, at least that of the context; defaults to the budget. The list of the
 * sections says the same in words.
 */
export function Bar({
  label,
  sections,
  used,
  budget,
  scale = budget,
  stable,
  numberOf = (_section, index) => index + 1,
}: {
  label: string
  sections: readonly Section[]
  /** Tokens of the context: not quite the sum of its sections. */
  used: number
  budget: number
  scale?: number
  /** Tokens of the stable prefix; null to leave it unmarked. */
  stable: number | null
  /** Returns the number of a section in the list of its sections. Defaults to its place. */
  numberOf?: (section: Section, index: number) => number
}) {
  const width = Math.max(
    scale,
    sections.reduce((sum, { tokens }) => sum + tokens, 0),
  )
  return (
    <div
      className="context-bar"
      role="img"
      aria-label={`${label}: ${formatNumber(used)} of ${formatNumber(budget)} tokens`}
    >
      <div className="segments">
        {sections.map((section, index) => (
          <span
            key={section.key}
            className={`section-${section.kind.toLowerCase()}`}
            style={share(section.tokens, width)}
            title={`${numberOf(section, index)}. ${section.label}: ${formatNumber(section.tokens)} tokens`}
          >
            {section.tokens / width > 0.055 && <span>{numberOf(section, index)}</span>}
          </span>
        ))}
      </div>
      {stable !== null && stable > 0 && (
        <div className="stable" style={share(Math.min(stable, width), width)}>
          <span>Stable prefix</span>
        </div>
      )}
    </div>
  )
}
