// The query memoryAudit: figures on the quality of the stored facts.

import {
  auditMemory,
  MAX_FACTS,
  MAX_SAMPLE,
  MAX_USERS,
  type MemoryAudit as Audit,
} from '../../domain/memory/fact/audit.ts'
import { asArg } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'

const MemoryAudit = builder
  .objectRef<Audit>('MemoryAudit')
  .implement({
    description:
      'Figures on the quality of the facts that the viewer sees. No model is called. Rates are 0 to 1. '
      + 'Duplicates and contradictions are measured by the rules of reconciliation in a sample: the '
      + `${MAX_USERS} users with the newest facts, the newest ${MAX_FACTS} active facts of each, at most `
      + `${MAX_SAMPLE.toLocaleString('en-US')} facts in all.`,
    fields: (t) => ({
      activeFacts: t.exposeInt('activeFacts', { description: 'Number of facts that are not superseded.' }),
      supersededFacts: t.exposeInt('supersededFacts', {
        description:
          'Number of facts that were merged, contradicted, retracted, or superseded by an edit of their '
          + 'turn. They are kept with the reason.',
      }),
      exactDuplicatesSkipped: t.exposeInt('exactDuplicatesSkipped', {
        description: 'Number of assertions that repeat a fact in view, by turns and recordings in view.',
      }),
      exactDuplicateRate: t.exposeFloat('exactDuplicateRate', {
        nullable: true,
        description:
          'Share of `exactDuplicatesSkipped` in the sum of `exactDuplicatesSkipped`, `activeFacts` and '
          + '`supersededFacts`. Null if the sum is 0.',
      }),
      nearDuplicateRate: t.exposeFloat('nearDuplicateRate', {
        nullable: true,
        description:
          'Share of the sampled facts that have a duplicate in other words about the same user with the '
          + 'same visibility. Null if the sample is empty.',
      }),
      openContradictions: t.exposeInt('openContradictions', {
        description:
          'Number of contradictions in the sample: facts that a reconciliation would supersede, and pairs '
          + 'that it would leave in dispute.',
      }),
      neverRecalledRate: t.exposeFloat('neverRecalledRate', {
        nullable: true,
        description: 'Share of active facts that no recall or context has returned. Null if there are no active facts.',
      }),
      waitingJobs: t.exposeInt('waitingJobs', {
        description:
          'Number of background jobs that wait for their first attempt or for a retry, among the jobs that '
          + 'the viewer sees.',
      }),
      queueAgeSeconds: t.exposeFloat('queueAgeSeconds', {
        nullable: true,
        description: 'Age of the oldest waiting job, in seconds. Null if no job waits.',
      }),
    }),
  })

builder.queryField('memoryAudit', (t) =>
  t.field({
    verb: 'auditMemory',
    type: MemoryAudit,
    description:
      'Measures the quality of the stored facts: duplicates, contradictions, use, and the backlog of '
      + 'background jobs.',
    args: asArg(t),
    resolve: (_, __, { reading, viewer, work }) =>
      reading.gates.heavy.run(viewer.tenant, () => work.read(() => auditMemory(reading, viewer))),
  }),
)
