// The type of attachments: the file of a FilePart, with a signed URL of its bytes.

import type { Attachment } from '../../domain/conversation/attachment/attachment.ts'
import { LINK_MS } from '../../domain/conversation/attachment/file-links.ts'
import { builder } from '../kernel/builder.ts'

const minutes = LINK_MS / 60_000

export const AttachmentObject = builder
  .objectRef<Attachment>('Attachment')
  .implement({
    description:
      'A file that was uploaded to a conversation. It is seen with the turn that uses it, and erased with that turn.',
    fields: (t) => ({
      id: t.exposeID('id', {
        description: 'Identifies the attachment: the `attachmentId` of FileInput. Not an id of `node`.',
      }),
      mediaType: t.exposeString('mediaType', { description: 'Media type, which the server has found by the bytes.' }),
      bytes: t.exposeInt('bytes', { description: 'Size of the file, in bytes.' }),
      fileName: t.exposeString('fileName', { nullable: true, description: 'Name for display. Null if not given.' }),
      width: t.exposeInt('width', {
        nullable: true,
        description: 'Width of an image, in pixels, as its header states it. Null for other files.',
      }),
      height: t.exposeInt('height', {
        nullable: true,
        description: 'Height of an image, in pixels, as its header states it. Null for other files.',
      }),
      sha256: t.exposeString('sha256', { description: 'SHA-256 of the bytes, in hexadecimal.' }),
      url: t.string({
        description:
          `Signed URL of the bytes, which needs no credentials until it expires, at most ${minutes} minutes after it was `
          + 'read. Begins with the setting PUBLIC_URL; without it, a path of this server.',
        sharing: 'SHAREABLE',
        resolve: ({ id }, _, { deps, viewer }) => deps.files.links.sign(viewer.tenant, id).url,
      }),
      expiresAt: t.field({
        type: 'DateTime',
        description: 'Time at which `url` expires. Read the attachment again for another one.',
        sharing: 'SHAREABLE',
        resolve: ({ id }, _, { deps, viewer }) => deps.files.links.sign(viewer.tenant, id).expiresAt,
      }),
    }),
  })
