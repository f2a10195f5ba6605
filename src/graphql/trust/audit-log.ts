// The audit log: its lines, and the verification of its hash chain.

import {
  auditCursor,
  getAuditLog,
  verificationCursor,
  verifyAuditLog,
  VERIFY_LINES,
  type AuditLine,
  type AuditVerification,
} from '../../domain/trust/audit-page.ts'
import { FLUSH_MS } from '../../domain/kernel/audit/audit-log.ts'
import { BURST_LINES, LINES_PER_SECOND } from '../../domain/kernel/audit/coalesce.ts'
import { MAX_RESOURCES } from '../../domain/kernel/audit/line.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'

const AuditOutcomeEnum = builder.enumType('AuditOutcome', {
  description: 'Whether an audited operation was performed.',
  values: {
    DONE: { description: 'The operation was performed.' },
    DENIED: { description: 'The operation was refused.' },
  } satisfies Record<AuditLine['outcome'], object>,
})

builder.objectType('AuditLine', {
  description:
    "One line of the tenant's audit log: who did what, when and with which credential. It contains names of actors, "
    + 'ids, numbers and hashes, never content.',
  fields: (t) => ({
    seq: t.expose('seq', { type: 'BigInt', description: 'Number of the line: 1, 2, 3 … without gaps.' }),
    at: t.expose('at', {
      type: 'DateTime',
      description: 'Time of the operation, or of the first of several equal operations.',
    }),
    actor: t.exposeString('actor', {
      description:
        'Actor that the credential was issued to; without authentication, the viewer. `overflow` in a line that counts '
        + 'operations beyond the limit of lines.',
    }),
    actedAs: t.exposeString('actedAs', {
      nullable: true,
      description: 'Actor in whose name it acted. Null if it acted as itself.',
    }),
    credential: t.exposeString('credential', {
      nullable: true,
      description: 'Credential, for example `key:ID`; never its secret. Null without authentication.',
    }),
    verb: t.exposeString('verb', { description: 'The operation, for example `deleteConversation`.' }),
    resources: t.stringList({
      description: `Ids of the objects concerned; at most ${MAX_RESOURCES}, and their number is then in \`details\`.`,
      sharing: 'SHAREABLE',
      resolve: ({ resources }) => [...resources],
    }),
    outcome: t.field({
      type: AuditOutcomeEnum,
      description: 'Whether the operation was performed.',
      sharing: 'SHAREABLE',
      resolve: ({ outcome }) => outcome,
    }),
    count: t.exposeInt('count', {
      description:
        `Number of equal operations that the line counts. Refusals and reads within ${FLUSH_MS / 1000} s are counted `
        + `in one line; a tenant causes at most ${BURST_LINES} such lines at once and ${LINES_PER_SECOND} per second `
        + 'in each process, and one line counts the others.',
    }),
    details: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Numbers, hashes and settings that describe the operation, as an object. Null for none.',
      sharing: 'SHAREABLE',
      resolve: ({ details }) => (details === null ? null : (JSON.parse(details) as unknown)),
    }),
    hash: t.exposeString('hash', {
      description:
        "SHA-256 of the previous line's hash and the values of this line, hexadecimal; an HMAC if the server has an "
        + '`INTEGRITY_KEY`.',
    }),
  }),
})

const { Connection } = connectionOf<AuditLine>('AuditLine', 'lines', auditCursor)

const AuditLogFilter = builder.inputType('AuditLogFilter', {
  description: 'Selects lines of the audit log. All given conditions must hold.',
  fields: (t) => ({
    actor: t.string({ description: 'Lines of operations by this actor, or in its name. Null for all.' }),
    verb: t.string({ description: 'Lines of this operation, for example `eraseUser`. Null for all.' }),
    resource: t.string({ description: 'Lines that name this id. Null for all.' }),
    outcome: t.field({ type: AuditOutcomeEnum, description: 'Lines with this outcome. Null for both.' }),
    from: t.field({ type: 'DateTime', description: 'Lines at or after this time. Null for no limit.' }),
    to: t.field({ type: 'DateTime', description: 'Lines before this time. Null for no limit.' }),
  }),
})

builder.queryField('auditLog', (t) =>
  t.field({
    verb: 'getAuditLog',
    type: Connection,
    description:
      "Lists the audit log of the viewer's tenant, newest line first: operations that leave no journal entry. Defaults to "
      + `the first ${DEFAULT_PAGE_SIZE} lines.`,
    args: {
      ...pagingArgs(t, 'lines'),
      filter: t.arg({ type: AuditLogFilter, description: 'Selects lines. Null for all.' }),
    },
    resolve: (_, args, { reading, viewer, work }) => work.read(() => getAuditLog(reading, viewer, args)),
  }),
)

const BreakReason = builder.enumType('AuditBreakReason', {
  description: 'Reason why a line breaks the chain of the audit log.',
  values: {
    MISSING: { description: 'The line does not exist, but a later one does, or the log says that it did.' },
    CHANGED: { description: 'The hash does not match the line and the line before it, or was made with another key.' },
    NOT_KEYED: { description: 'The hash was made without a key, after lines with one.' },
    KEY_MISSING: { description: 'The hash was made with a key, but the server has no `INTEGRITY_KEY`.' },
  } satisfies Record<NonNullable<AuditVerification['broken']>['reason'], object>,
})

const AuditVerificationType = builder
  .objectRef<AuditVerification>('AuditVerification')
  .implement({
    description: 'Result of verifying a part of the audit log.',
    fields: (t) => ({
      verifiedThrough: t.expose('verifiedThrough', {
        type: 'BigInt',
        description: 'Number of the last line that was verified; 0 for none.',
      }),
      hash: t.exposeString('hash', {
        description: 'Hash of that line. Store it elsewhere, to find out later whether the newest lines were removed.',
      }),
      keyedFrom: t.field({
        type: 'BigInt',
        nullable: true,
        description:
          'Number of the first verified line whose hash needs the key. Earlier lines have plain hashes, which anybody who '
          + 'can write to the database can compute. Null if there is none.',
        sharing: 'SHAREABLE',
        resolve: ({ keyedFrom }) => keyedFrom,
      }),
      brokenSeq: t.field({
        type: 'BigInt',
        nullable: true,
        description: 'Number of the first line that breaks the chain. Null if no line does.',
        sharing: 'SHAREABLE',
        resolve: ({ broken }) => broken?.seq ?? null,
      }),
      brokenReason: t.field({
        type: BreakReason,
        nullable: true,
        description: 'Reason why that line breaks the chain. Null if no line does.',
        sharing: 'SHAREABLE',
        resolve: ({ broken }) => broken?.reason ?? null,
      }),
      isComplete: t.exposeBoolean('isComplete', { description: 'Whether the newest line was reached.' }),
      endCursor: t.string({
        description: 'Opaque position of the last line that was verified. Pass it as `after` to continue.',
        sharing: 'SHAREABLE',
        resolve: verificationCursor,
      }),
    }),
  })

builder.queryField('verifyAuditLog', (t) =>
  t.field({
    verb: 'verifyAuditLog',
    type: AuditVerificationType,
    description:
      "Verifies the hash chain of the audit log of the viewer's tenant, and names the first line that was removed, "
      + `changed or moved. Verifies at most ${VERIFY_LINES.toLocaleString('en-US')} lines.`,
    args: {
      after: t.arg.string({ description: '`endCursor` of the previous call. Null to start at the oldest line.' }),
    },
    resolve: (_, { after }, { reading, viewer, work }) =>
      reading.gates.heavy.run(viewer.tenant, () => work.read(() => verifyAuditLog(reading, viewer, after ?? null))),
  }),
)
