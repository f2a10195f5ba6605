// The functions that export and import conversations. They are not part of the client, because few programs need them.

import type { RequestOptions, SendOptions } from './calls.ts'
import * as documents from './documents.ts'
import { payloadOf } from '../transport/errors.ts'
import type { StartExportInput, Transfer } from '../generated.ts'

export type Transfers = {
  /** Starts an export; `conversationId` is needed for the scope CONVERSATION. @throws ColloquyError */
  startExport(input: Omit<StartExportInput, 'as'>, options?: RequestOptions): Promise<Transfer>
  /** Returns the next lines of an export, after the cursor of the previous ones. @throws ColloquyError */
  continueExport(
    transferId: string,
    options?: { after?: string } & RequestOptions,
  ): Promise<{ transfer: Transfer; lines: string[]; cursor: string | null }>
  /** Starts the import of a file, or returns the unfinished import with that `fileKey`. @throws ColloquyError */
  startImport(manifest: string, fileKey: string, options?: RequestOptions): Promise<Transfer>
  /** Imports the lines that follow the first `offset` ones. The result says where to continue. @throws ColloquyError */
  continueImport(
    transferId: string,
    offset: number,
    lines: readonly string[],
    options?: RequestOptions,
  ): Promise<Transfer>
  /** Ends an export or import. @throws ColloquyError */
  cancelTransfer(transferId: string, options?: RequestOptions): Promise<Transfer>
  /** Reads an export or import; null if the actor sees none with that id. @throws ColloquyError */
  readTransfer(transferId: string, options?: RequestOptions): Promise<Transfer | null>
}

/** A client, or what the functions need of it. */
type Requesting = {
  readonly as: string | undefined
  request(query: string, variables: Record<string, unknown>, options?: SendOptions): Promise<any>
}

/** Options of a call that moves many lines. */
const LARGE = { timeoutMs: 60_000 }

/** Returns the functions that export and import, as the actor of the client. */
export function transfersOf({ as, request }: Requesting): Transfers {
  const call = async (document: string, input: object, options?: SendOptions): Promise<any> =>
    payloadOf(Object.values<any>(await request(document, { input: { as, ...input } }, options))[0])
  return {
    startExport: async (input, options) => (await call(documents.START_EXPORT, input, options)).transfer,
    continueExport: (transferId, { signal, ...input } = {}) =>
      call(documents.CONTINUE_EXPORT, { transferId, ...input }, { signal, ...LARGE }),
    startImport: async (manifest, fileKey, options) =>
      (await call(documents.START_IMPORT, { manifest, fileKey }, options)).transfer,
    continueImport: async (transferId, offset, lines, options) =>
      (await call(documents.CONTINUE_IMPORT, { transferId, offset, lines }, { ...options, ...LARGE })).transfer,
    cancelTransfer: async (transferId, options) =>
      (await call(documents.CANCEL_TRANSFER, { transferId }, options)).transfer,
    readTransfer: async (transferId, options) =>
      (await request(documents.READ_TRANSFER, { transferId, as }, options)).transfer,
  }
}
