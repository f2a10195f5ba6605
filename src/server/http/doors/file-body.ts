// Reads an uploaded file from the body of a request: the body itself, or the only file of multipart/form-data (RFC 7578).
// The body gate has limited the size of the body.

import { InvalidInput } from '../../../errors.ts'
import type { FileLimits } from '../../../domain/conversation/attachment/attachment.ts'

/** Size of multipart/form-data around the file, in bytes. */
const FORM_BYTES = 16 * 1024
/** Maximum number of parts of multipart/form-data, which also have no content but take time. */
const MAX_PARTS = 8

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

/** Whether the body has more than MAX_PARTS delimiters, besides the last one. */
function hasTooManyParts(body: Buffer, delimiter: string): boolean {
  let at = body.indexOf(delimiter)
  for (let found = 0; at >= 0; at = body.indexOf(delimiter, at + delimiter.length)) {
    if (++found > MAX_PARTS + 1) return true
  }
  return false
}

async function fileOfForm(body: Buffer, contentType: string): Promise<BodyFile> {
  if (hasTooManyParts(body, delimiterOf(contentType))) {
    throw InvalidInput.at('', `has more than ${MAX_PARTS} parts. Send one file`)
  }
  let form: FormData
  try {
    form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  } catch {
    throw InvalidInput.at('', 'is not valid multipart/form-data')
  }
  const values = [...form.values()]
  const files = values.filter((value) => typeof value !== 'string')
  const [file] = files
  if (!file || files.length !== 1) throw InvalidInput.at('', `has ${files.length} files. Send one file`)
  const bytes = Buffer.from(await file.arrayBuffer())
  return { bytes, mediaType: file.type === '' ? null : file.type, fileName: file.name === '' ? null : file.name }
}

/** Returns the file of a request with that Content-Type. @throws InvalidInput */
export const fileOf = async (body: Buffer, contentType: string | undefined): Promise<BodyFile> =>
  contentType !== undefined && isForm(contentType)
    ? fileOfForm(body, contentType)
    : { bytes: body, mediaType: contentType ?? null, fileName: null }
