// The query memoryAudit: figures on the quality of the stored facts.

import { auditMemory, type MemoryAudit as Audit } from '../domain/fact/audit.ts'
import { builder } from './builder.ts'

const MemoryAudit = builder
  .objectRef<Audit>('MemoryAudit')
  .implement({
    description:
      'How well what is known is kept, over the facts that the viewer sees. No model is asked. Rates are 0 to 1, and '
      + 'null where there is nothing to divide by. Facts are compared by the rules of reconciling, for the 100 users '
      + 'of whom something was learned last, and the newest 500 active facts of each.',
    fields: (t) => ({
      activeFacts: t.exposeInt('activeFacts', { description: 'What is held to be so.' }),
      supersededFacts: t.exposeInt('supersededFacts', {
        description: 'What was merged, contradicted, edited or taken back; it is kept with the reason.',
      }),
      exactDuplicatesSkipped: t.exposeInt('exactDuplicatesSkipped', {
        description:
          'Number of times that facts in view were asserted again without a change, by turns and recordings in view.',
      }),
      exactDuplicateRate: t.exposeFloat('exactDuplicateRate', {
        nullable: true,
        description:
          'Share of `exactDuplicatesSkipped` in the sum of it, `activeFacts` and `supersededFacts`; null if the sum '
          + 'is 0.',
      }),
      nearDuplicateRate: t.exposeFloat('nearDuplicateRate', {
        nullable: true,
        description:
          'The share of the compared ones beside which another says the same, of the same user and for the same eyes.',
      }),
      openContradictions: t.exposeInt('openContradictions', {
        description: 'Compared facts that cannot hold beside another: not reconciled yet, or in dispute.',
      }),
      neverRecalledRate: t.exposeFloat('neverRecalledRate', {
        nullable: true,
        description: 'The share of active facts that no search has ever found.',
      }),
      waitingJobs: t.exposeInt('waitingJobs', {
        description: 'Background work of the tenant that nobody has begun, or that failed and is to be tried again.',
      }),
      queueAgeSeconds: t.exposeFloat('queueAgeSeconds', {
        nullable: true,
        description: 'How long the oldest of it has been waiting; null where nothing waits.',
      }),
    }),
  })

builder.queryField('memoryAudit', (t) =>
  t.field({
    type: MemoryAudit,
    description: 'Whether facts are kept in order: duplicates, contradictions, use, and the work that is behind.',
    resolve: (_, __, { reading, viewer, work }) =>
      reading.gates.memory.run(viewer.tenant, () => work.read(() => auditMemory(reading, viewer))),
  }),
)
