// The file of an upload: the body itself, or the only file of a form.

import { describe, expect, it } from 'vitest'
import { fileOf } from '../../../../../src/server/http/doors/file-body.ts'

const FORM = 'multipart/form-data; boundary=b'
/** A form with parts of these headers and contents. */
const form = (...parts: [headers: string, content: string][]) =>
  Buffer.from(`${parts.map(([headers, content]) => `--b\r\n${headers}\r\n\r\n${content}\r\n`).join('')}--b--\r\n`)
const file = (parameters: string) => `Content-Disposition: form-data; name="file"; ${parameters}`

describe('the file of a request', () => {
  it('is the body, or a view of it, and no copy', () => {
    const body = Buffer.from('text')
    expect(fileOf(body, 'text/plain')).toEqual({ bytes: body, mediaType: 'text/plain', fileName: null })
    const inForm = form(
      ['Content-Disposition: form-data; name="note"', 'no file'],
      [`${file('filename="a.txt"')}\r\nContent-Type: text/plain`, 'line\r\n\r\n--c\r\n'],
    )
    const { bytes, ...rest } = fileOf(inForm, FORM)
    expect(rest).toEqual({ mediaType: 'text/plain', fileName: 'a.txt' })
    expect(String(bytes)).toBe('line\r\n\r\n--c\r\n')
    expect(bytes.buffer).toBe(inForm.buffer)
  })

  it.each([
    ['filename="a%22b.txt"', 'a"b.txt'],
    ['filename="a\\"b\\\\c.txt"', 'a"b\\c.txt'],
    ['filename="Zoë 100%.txt"', 'Zoë 100%.txt'],
    ['filename=plain.txt', 'plain.txt'],
    ['filename=""', null],
  ])('has the name in %s', (parameters, fileName) => {
    expect(fileOf(form([file(parameters), '']), FORM)).toMatchObject({ fileName, mediaType: null })
  })

  it.each([
    ['no delimiter', 'x', /is not valid/],
    ['no last delimiter', `--b\r\n${file('filename=a')}\r\n\r\nx`, /is not valid/],
    ['another delimiter that begins alike', `--bc\r\n${file('filename=a')}\r\n\r\nx\r\n--b--`, /is not valid/],
    ['headers without an end', `--b\r\nx: ${'y'.repeat(10_000)}\r\n\r\nx\r\n--b--`, /is not valid/],
    ['no file', String(form(['Content-Disposition: form-data; name="note"', 'x'])), /has 0 files/],
    ['two files', String(form([file('filename=a'), 'x'], [file('filename=b'), 'y'])), /has 2 files/],
    ['many parts', String(form(...Array.from({ length: 9 }, () => ['x: y', 'z'] as [string, string]))), /more than 8/],
  ])('is refused in a form with %s', (_, body, message) => {
    expect(() => fileOf(Buffer.from(body), FORM)).toThrow(message)
  })
})
