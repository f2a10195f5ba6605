// Failures of exports and imports, as one line.

import { CommandFailed } from '../live.ts'

/** An export or import failed for a reason that a person can act on. */
export class TransferFailed extends CommandFailed {}

/** Words for the codes of the operating system. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the quota of the file system is used up',
  EFBIG: 'the file would be larger than the limit',
  EROFS: 'the file system is read-only',
  EPIPE: 'the reader has closed its end',
}

/** Returns the failure of an operation on a file. Other errors are returned unchanged. */
export function fileFailure(path: string, operation: 'read' | 'write', error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (error instanceof CommandFailed || code === undefined || syscall === undefined) return error
  return new TransferFailed(`Cannot ${operation} ${path}: ${REASONS[code] ?? code}.`)
}
