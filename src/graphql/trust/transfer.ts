// Exports and imports: a transfer, the verbs that start and continue it, and the reading of its progress.

import {
  ABANDONED_MS,
  cancelTransfer,
  getTransfer,
  startExport,
  startImport,
  type Transfer,
} from '../../domain/trust/transfer/transfer.ts'
import { continueExport, PAGE_CHARACTERS, PAGE_LINES, type ExportPage } from '../../domain/trust/transfer/export.ts'
import { MAX_LINE_BYTES } from '../../domain/trust/transfer/format.ts'
import { BATCH_LINES, continueImport } from '../../domain/trust/transfer/import/import.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asArg, asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { atConversationIfGiven, conversationRef } from '../conversation/conversation-ref.ts'
import { Node } from '../kernel/node.ts'
import { orErrors, payload } from '../kernel/errors.ts'

const DAYS = ABANDONED_MS / (24 * 60 * 60 * 1000)

const TransferDirectionEnum = builder.enumType('TransferDirection', {
  description: 'Whether data leaves the server or enters it.',
  values: {
    EXPORT: { description: 'Out of the server, to a file.' },
    IMPORT: { description: 'From a file, into the server.' },
  } satisfies Record<Transfer['direction'], object>,
})

const TransferStateEnum = builder.enumType('TransferState', {
  description: 'Whether an export or import has ended.',
  values: {
    RUNNING: { description: 'It can be continued.' },
    COMPLETED: { description: 'All lines were transferred.' },
    CANCELLED: { description: `It was cancelled, or not continued for ${DAYS} days.` },
  } satisfies Record<Transfer['state'], object>,
})

const TransferScopeEnum = builder.enumType('TransferScope', {
  description: 'Data that an export or import covers.',
  values: {
    CONVERSATION: { description: 'One conversation, with everything in it. Needs the right `operate`.' },
    OWNER: { description: 'All conversations of an owner, with everything in them. Needs the right `operate`.' },
    USER: {
      description:
        'The own data of a user, in the view of the user: the turns by the user, for the user or mentioning the user, the '
        + 'facts about the user or asserted by the user, and the profile. For another user than the viewer, needs the '
        + 'right `operate`. Cannot be imported.',
    },
    TENANT: { description: 'The whole tenant. Needs the right `operate`.' },
  } satisfies Record<Transfer['scope'], object>,
})

const TransferType = builder
  .objectRef<Transfer>('Transfer')
  .implement({
    description: `An export or an import, with its progress. Ends by itself if it is not continued for ${DAYS} days.`,
    interfaces: [Node],
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Identifies the transfer.' }),
      direction: t.field({
        type: TransferDirectionEnum,
        description: 'Whether it is an export or an import.',
        sharing: 'SHAREABLE',
        resolve: ({ direction }) => direction,
      }),
      state: t.field({
        type: TransferStateEnum,
        description: 'Whether it can be continued.',
        sharing: 'SHAREABLE',
        resolve: ({ state }) => state,
      }),
      scope: t.field({
        type: TransferScopeEnum,
        description: 'The data that it covers.',
        sharing: 'SHAREABLE',
        resolve: ({ scope }) => scope,
      }),
      subject: t.exposeString('subject', {
        nullable: true,
        description: 'Id of the conversation, or name of the owner or the user. Null for a tenant.',
      }),
      actor: t.exposeString('actor', { description: 'Actor that started it.' }),
      manifest: t.exposeString('manifest', { description: 'The first line of the file, as JSON.' }),
      lines: t.exposeInt('lines', {
        description: 'Number of lines that were transferred. The manifest and the last line are not counted.',
      }),
      sha256: t.exposeString('sha256', { description: 'Chained hash of these lines, hexadecimal; empty for none.' }),
      counts: t.field({
        type: 'JSON',
        description: 'Number of transferred lines by type, as an object.',
        sharing: 'SHAREABLE',
        resolve: ({ counts }) => counts,
      }),
      report: t.field({
        type: 'JSON',
        description:
          'Number of objects by type and outcome, as an object, for example `turn.added`. The outcomes are `added`, '
          + '`unchanged` (the store has the same), `kept` (the store has a newer state, which stays), `erased` (erased in '
          + 'this store, and left out), `expired`, `duplicate` and `missing` (an attachment without all its bytes). Empty for an export.',
        sharing: 'SHAREABLE',
        resolve: ({ report }) => report,
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which it was started.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'Time at which it was last continued.' }),
      completedAt: t.expose('completedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'Time at which all lines were transferred. Null until then.',
      }),
    }),
  })

/** Returns the payload of a verb whose only result is the transfer. */
const transferPayload = (verb: string, name: string) =>
  payload<Transfer>(verb).implement({
    description: `Result of ${name}.`,
    fields: (t) => ({
      transfer: t.field({
        type: TransferType,
        description: 'The export or import, with its progress.',
        sharing: 'SHAREABLE',
        resolve: (transfer) => transfer,
      }),
    }),
  })

const StartExportInput = builder.inputType('StartExportInput', {
  description: 'Input of startExport: what to export.',
  fields: (t) => ({
    scope: t.field({ type: TransferScopeEnum, required: true, description: 'The data to export.' }),
    ...conversationRef(t, 'to export, with scope CONVERSATION'),
    owner: t.string({ description: 'Owner of the conversations to export, with scope OWNER.' }),
    userId: t.string({ description: 'User whose data is exported, with scope USER.' }),
    ...asField(t, 'Actor that exports.'),
  }),
})
const StartExportPayload = transferPayload('StartExport', 'startExport')

builder.mutationField('startExport', (t) =>
  t.field({
    type: StartExportPayload,
    description:
      'Starts an export, which continueExport returns as lines of JSON. Conversations that are created later are not '
      + 'exported. Is written to the audit log.',
    errors: orErrors('StartExport', [InvalidInput, NotFound, NotAllowed]),
    args: { input: t.arg({ type: StartExportInput, required: true, description: 'What to export.' }) },
    async resolve(_, { input: { as: _as, ...input } }, context) {
      const given = await atConversationIfGiven(context, input)
      return startExport(context.deps, context.viewer, given)
    },
  }),
)

const ContinueExportPayload = payload<ExportPage>('ContinueExport').implement({
  description: 'Result of continueExport.',
  fields: (t) => ({
    transfer: t.field({
      type: TransferType,
      description: 'The export, with its progress.',
      sharing: 'SHAREABLE',
      resolve: ({ transfer }) => transfer,
    }),
    lines: t.exposeStringList('lines', {
      description: 'The next lines of the file, without line breaks. The first page begins with the manifest.',
    }),
    cursor: t.exposeString('cursor', {
      nullable: true,
      description: 'Cursor after these lines: pass it as `after`. Null if the last line is among them.',
    }),
  }),
})

const ContinueExportInput = builder.inputType('ContinueExportInput', {
  description: 'Input of continueExport: an export, and the cursor to continue at.',
  fields: (t) => ({
    transferId: t.id({ required: true, description: 'Id of the export.' }),
    after: t.string({ description: 'Cursor of the previous page. Omit it for the first page.' }),
    ...asField(t, 'Actor that exports.'),
  }),
})

builder.mutationField('continueExport', (t) =>
  t.field({
    type: ContinueExportPayload,
    description:
      `Returns the next lines of an export: a page ends after ${PAGE_LINES.toLocaleString('en-US')} lines, or about `
      + `${PAGE_CHARACTERS / 1024} KiB. A page can be requested again with the same cursor. Fails with Conflict if the `
      + 'export was cancelled.',
    errors: orErrors('ContinueExport', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: ContinueExportInput, required: true, description: 'The export, and a cursor.' }) },
    resolve: (_, { input: { transferId, after } }, { deps, viewer }) =>
      continueExport(deps, viewer, { transferId, after }),
  }),
)

const StartImportInput = builder.inputType('StartImportInput', {
  description: 'Input of startImport: the manifest of a file.',
  fields: (t) => ({
    manifest: t.string({ required: true, description: 'The first line of the file, unchanged.' }),
    fileKey: t.string({
      required: true,
      description:
        'Name of the file that the client chooses, 1 to 200 characters, for example its SHA-256. While an import with '
        + 'the same name is unfinished, startImport returns that import, so that it continues.',
    }),
    ...asField(t, 'Actor that imports.'),
  }),
})
const StartImportPayload = transferPayload('StartImport', 'startImport')

builder.mutationField('startImport', (t) =>
  t.field({
    type: StartImportPayload,
    description:
      'Starts the import of a file that an export wrote, or returns the unfinished import of that file. Is '
      + 'written to the audit log. Fails with InvalidInput for a file of another format, of a newer version, or with '
      + 'scope USER.',
    errors: orErrors('StartImport', [InvalidInput, NotAllowed]),
    args: { input: t.arg({ type: StartImportInput, required: true, description: 'The file to import.' }) },
    resolve: (_, { input: { manifest, fileKey } }, { deps, viewer }) =>
      startImport(deps, viewer, { manifest, fileKey }),
  }),
)

const ContinueImportInput = builder.inputType('ContinueImportInput', {
  description: 'Input of continueImport: the next lines of the file.',
  fields: (t) => ({
    transferId: t.id({ required: true, description: 'Id of the import.' }),
    offset: t.int({
      required: true,
      description: 'Number of lines of the file before `lines`, without the manifest: `Transfer.lines`.',
    }),
    lines: t.stringList({
      required: true,
      description:
        `The next lines of the file, unchanged and without line breaks; at most ${BATCH_LINES.toLocaleString('en-US')}, `
        + `of at most ${MAX_LINE_BYTES / 2 ** 20} MiB each.`,
    }),
    ...asField(t, 'Actor that imports.'),
  }),
})
const ContinueImportPayload = transferPayload('ContinueImport', 'continueImport')

builder.mutationField('continueImport', (t) =>
  t.field({
    type: ContinueImportPayload,
    description:
      'Writes the next lines of an import, all or none. Lines that were written before are ignored, so a call can be '
      + 'repeated; `Transfer.lines` in the result says where to continue. A conversation is visible once its last line '
      + 'was written. Ids are kept. What was erased in this server stays erased. Fails with InvalidInput for a '
      + 'damaged line, whose number the message contains, and with Conflict if the server has other content under an id '
      + 'of the file.',
    errors: orErrors('ContinueImport', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: ContinueImportInput, required: true, description: 'The lines.' }) },
    resolve: (_, { input: { transferId, offset, lines } }, { deps, viewer }) =>
      continueImport(deps, viewer, { transferId, offset, lines }),
  }),
)

const CancelTransferInput = builder.inputType('CancelTransferInput', {
  description: 'Input of cancelTransfer: an export or import to end.',
  fields: (t) => ({
    transferId: t.id({ required: true, description: 'Id of the export or import.' }),
    ...asField(t, 'Actor that cancels the transfer.'),
  }),
})
const CancelTransferPayload = transferPayload('CancelTransfer', 'cancelTransfer')

builder.mutationField('cancelTransfer', (t) =>
  t.field({
    type: CancelTransferPayload,
    description:
      'Ends a transfer. An import keeps the conversations that are complete; the one that it was writing is deleted. A '
      + 'transfer that has ended is returned unchanged.',
    errors: orErrors('CancelTransfer', [InvalidInput, NotFound, NotAllowed]),
    args: { input: t.arg({ type: CancelTransferInput, required: true, description: 'The transfer to end.' }) },
    resolve: (_, { input: { transferId } }, { deps, viewer }) => cancelTransfer(deps, viewer, { transferId }),
  }),
)

builder.queryField('transfer', (t) =>
  t.field({
    verb: 'getTransfer',
    type: TransferType,
    nullable: true,
    description:
      'Returns an export or an import of the tenant. Null if the viewer started none with that id, and does not have '
      + 'the right `operate`.',
    args: { id: t.arg.id({ required: true, description: 'Id of the export or import.' }), ...asArg(t) },
    resolve: (_, { id }, { reading, viewer, work }) => work.read(() => getTransfer(reading, viewer, id)),
  }),
)
