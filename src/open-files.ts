// Chooses the file store, and creates the signed URLs of attachments. A part of the composition root (deps.ts).

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { DepsConfig } from './deps-config.ts'
import type { Files } from './domain/conversation/attachment/attachment.ts'
import { createFileLinks, FILES_PATH } from './domain/conversation/attachment/file-links.ts'
import type { Clock } from './runtime/clock.ts'
import type { Db } from './store/db/db.ts'
import { createDiskFiles } from './store/files/disk.ts'
import type { FileStore } from './store/files/file-store.ts'
import { createMemoryFiles } from './store/files/memory.ts'
import { readFileKey } from './store/sql/conversation/attachment/file-deletions.ts'

const MiB = 1024 * 1024

/** The settings of a server without any, as src/config/files.ts has them. */
const DEFAULTS: NonNullable<DepsConfig['files']> = {
  store: { kind: 'disk', directory: null },
  publicUrl: null,
  types: [
    ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf', 'text/plain', 'text/markdown'],
    ...['text/csv', 'application/json', 'audio/mpeg', 'audio/wav', 'video/mp4', 'video/webm'],
  ],
  fileBytes: 10 * MiB,
  conversationBytes: 1024 * MiB,
  tenantBytes: 20 * 1024 * MiB,
}

async function openStore(
  { store }: NonNullable<DepsConfig['files']>,
  { dataDir }: Pick<DepsConfig, 'dataDir'>,
): Promise<FileStore> {
  if (store.kind === 's3') return (await import('./store/files/s3.ts')).createS3Files(store)
  const directory = store.directory ?? (dataDir === null ? null : join(dataDir, 'files'))
  return directory === null ? createMemoryFiles() : createDiskFiles(directory)
}

/** Opens the file store, and reads the secret of signed URLs, which all processes of a database share. */
export async function openFiles(config: DepsConfig, db: Db, clock: Clock): Promise<Files> {
  const settings = config.files ?? DEFAULTS
  const secret = await readFileKey(db, randomBytes(32).toString('hex'))
  return {
    store: await openStore(settings, config),
    links: createFileLinks(secret, `${settings.publicUrl ?? ''}${FILES_PATH}`, clock),
    limits: settings,
    isPublic: settings.publicUrl !== null,
  }
}
