// Reads an uploaded file from the body of a request: the body itself, or the only file of multipart/form-data (RFC 7578).
// The body gate has limited the size of the body. The file is a view of the body, not a copy, because the gate counts its
// bytes once.

import { InvalidInput } from '../../../errors.ts'
import type { FileLimits } from '../../../domain/conversation/attachment/attachment.ts'

/** Size of multipart/form-data around the file, in bytes. */
const FORM_BYTES = 16 * 1024
/** Maximum number of parts of multipart/form-data, which also have no content but take time. */
const MAX_PARTS = 8
/** Maximum size of the headers of one part, in bytes. */
const MAX_HEADER_BYTES = 8 * 1024

/** Maximum size of the body of an upload, in bytes. */
export const fileBodyBytes = ({ fileBytes }: Pick<FileLimits, 'fileBytes'>): number => fileBytes + FORM_BYTES

/** The file of a request. `mediaType` and `fileName` are those that the client states; null for none. */
export type BodyFile = { bytes: Buffer; mediaType: string | null; fileName: string | null }

const isForm = (contentType: string) => /^\s*multipart\//i.test(contentType)

/** Returns the delimiter of the parts. @throws InvalidInput */
function delimiterOf(contentType: string): string {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (!/^\s*multipart\/form-data\s*;/i.test(contentType) || boundary === undefined) {
    throw InvalidInput.at('', 'must be multipart/form-data with a boundary, or the file itself with its Content-Type')
  }
  return `--${boundary}`
}

type Part = { headers: string; content: Buffer }

const invalid = () => InvalidInput.at('', 'is not valid multipart/form-data')

/** Returns the headers and the content of the part that begins at `at`, after its delimiter. @throws InvalidInput */
function partAt(body: Buffer, at: number, delimiter: string): Part {
  // The line break before the headers is included, because a part may have none.
  const head = body.subarray(at, at + MAX_HEADER_BYTES)
  const length = head.indexOf('\r\n\r\n')
  const start = at + length + 4
  const end = body.indexOf(`\r\n${delimiter}`, start)
  if (!head.toString('latin1', 0, 2).startsWith('\r\n') || length < 0 || end < 0) throw invalid()
  return { headers: head.toString('utf8', 0, length), content: body.subarray(start, end) }
}

/** Yields the parts of the form (RFC 2046 §5.1.1). @throws InvalidInput */
function* partsOf(body: Buffer, delimiter: string): Generator<Part> {
  let at = body.indexOf(delimiter)
  if (at !== 0 && (at < 0 || body.toString('latin1', at - 2, at) !== '\r\n')) throw invalid()
  at += delimiter.length
  for (let count = 1; body.toString('latin1', at, at + 2) !== '--'; count++) {
    if (count > MAX_PARTS) throw InvalidInput.at('', `has more than ${MAX_PARTS} parts. Send one file`)
    const part = partAt(body, at, delimiter)
    yield part
    at = part.content.byteOffset - body.byteOffset + part.content.length + 2 + delimiter.length
  }
}

/** The characters of a name that browsers replace, and the escapes of other clients. */
const ESCAPES: Readonly<Record<string, string>> = { '%22': '"', '%0D': '\r', '%0A': '\n', '\\"': '"', '\\\\': '\\' }

/** Returns the name of the part's file; null if the part is no file. */
function fileNameOf(headers: string): string | null {
  const [disposition = ''] = /^content-disposition:.*$/im.exec(headers) ?? []
  const [, quoted, plain] = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(disposition) ?? []
  return quoted?.replaceAll(/%22|%0[DA]|\\["\\]/g, (each) => ESCAPES[each]!) ?? plain ?? null
}

/** Returns the only file of a form. @throws InvalidInput */
function fileOfForm(body: Buffer, contentType: string): BodyFile {
  const files: BodyFile[] = []
  for (const { headers, content } of partsOf(body, delimiterOf(contentType))) {
    const fileName = fileNameOf(headers)
    if (fileName === null) continue
    const [, mediaType = ''] = /^content-type:(.*)$/im.exec(headers) ?? []
    files.push({ bytes: content, mediaType: mediaType.trim() || null, fileName: fileName || null })
  }
  const [file] = files
  if (!file || files.length !== 1) throw InvalidInput.at('', `has ${files.length} files. Send one file`)
  return file
}

/** Returns the file of a request with that Content-Type. @throws InvalidInput */
export const fileOf = (body: Buffer, contentType: string | undefined): BodyFile =>
  contentType !== undefined && isForm(contentType)
    ? fileOfForm(body, contentType)
    : { bytes: body, mediaType: contentType ?? null, fileName: null }
