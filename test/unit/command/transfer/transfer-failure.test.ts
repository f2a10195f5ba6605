// Failures of files are one line that says what to do; other errors are not changed.

import { describe, expect, it } from 'vitest'
import { fileFailure, TransferFailed } from '../../../../src/command/transfer/transfer-failure.ts'

describe('a failure of a file', () => {
  it.each([
    ['ENOSPC', 'Cannot write a.jsonl: no space is left on the device.'],
    ['EDQUOT', 'Cannot write a.jsonl: the quota of the file system is used up.'],
    ['EFBIG', 'Cannot write a.jsonl: the file would be larger than the limit.'],
    ['EIO', 'Cannot write a.jsonl: EIO.'],
  ])('with the code %s is one line', (code, line) => {
    const failure = fileFailure('a.jsonl', 'write', Object.assign(new Error('failed'), { code, syscall: 'write' }))
    expect(failure).toBeInstanceOf(TransferFailed)
    expect((failure as Error).message).toBe(line)
  })

  it('is not made of another error', () => {
    const other = new Error('other')
    expect(fileFailure('a.jsonl', 'write', other)).toBe(other)
    const failed = new TransferFailed('known')
    expect(fileFailure('a.jsonl', 'read', failed)).toBe(failed)
  })
})
