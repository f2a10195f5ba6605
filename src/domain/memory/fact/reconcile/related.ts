// Finds the facts that a reconciliation after a change must compare. Pure. The result is closed: the plan for it equals
// the part about these facts of the plan for all facts of the visibility set, because no rule and no verdict relates one
// of them to any other fact.

import type { Verdict } from '../../../../providers/ports/fact-judge.ts'
import type { ActiveFact } from '../active-fact.ts'
import { contradicts, isSame, toComparedFact, type ComparedFact } from './same.ts'

/**
 * Returns the changed facts, and the facts that are related to them, directly or through others, as duplicates, as
 * contradictory, or by a verdict. Yields after each fact. With n facts, k of them in the result, it makes at most n · k
 * comparisons.
 */
export function* relatedSteps(
  facts: readonly ActiveFact[],
  changed: ReadonlySet<string>,
  verdicts: readonly Verdict[] = [],
): Generator<void, ActiveFact[]> {
  type Node = { fact: ActiveFact; compared: ComparedFact }
  const nodes = new Map<string, Node>()
  const slots = new Map<string, Set<Node>>()
  for (const fact of facts) {
    const node = { fact, compared: toComparedFact(fact) }
    nodes.set(fact.id, node)
    slots.set(node.compared.slot, (slots.get(node.compared.slot) ?? new Set()).add(node))
    yield
  }
  const partners = new Map<string, string[]>()
  for (const { a, b } of verdicts) {
    partners.set(a, [...(partners.get(a) ?? []), b])
    partners.set(b, [...(partners.get(b) ?? []), a])
  }
  const related: Node[] = []
  const reach = (node: Node | undefined) => {
    // Facts are taken out of their slot, so that no pair is compared twice.
    if (node && slots.get(node.compared.slot)!.delete(node)) related.push(node)
  }
  for (const id of changed) reach(nodes.get(id))
  // The list grows while it is read.
  for (const { fact, compared } of related) {
    for (const other of [...slots.get(compared.slot)!]) {
      if (isSame(compared, other.compared) || contradicts(compared, other.compared)) reach(other)
    }
    for (const partner of partners.get(fact.id) ?? []) reach(nodes.get(partner))
    yield
  }
  return related.map(({ fact }) => fact)
}
