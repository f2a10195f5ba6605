// Reads the template of an embedded database: an archive, compressed with Brotli, of a data directory with all
// migrations. scripts/template.ts creates it, so that the first start need not run the migrations. Without a template
// of exactly these migrations, the first start creates an empty database.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

const MIGRATIONS = new URL('../../../prisma/migrations/', import.meta.url)

/**
 * Returns the path of the template for the migrations of this version, whether or not it exists.
 * @internal Exported for scripts/template.ts.
 */
export function templatePath(): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(MIGRATIONS).sort()) {
    if (!name.includes('.')) hash.update(name).update(readFileSync(new URL(`${name}/migration.sql`, MIGRATIONS)))
  }
  return fileURLToPath(new URL(`../template/${hash.digest('hex').slice(0, 16)}.tar.br`, import.meta.url))
}

/** Reads the archive of the template; null if there is no template for these migrations. */
async function readArchive(): Promise<NonSharedBuffer | null> {
  const path = templatePath()
  return existsSync(path) ? promisify(brotliDecompress)(await readFile(path)) : null
}

/** Reads the template; null if there is none for these migrations. */
export async function readTemplate(): Promise<Blob | null> {
  const archive = await readArchive()
  return archive && new Blob([archive], { type: 'application/x-tar' })
}

/** Size of the records of which a tar archive consists: headers, and contents padded to whole records. */
const TAR_RECORD = 512

/** Yields the directories and files of a tar archive. PGlite writes short names, which have no extended headers. */
function* entriesOf(archive: Buffer): Generator<{ name: string; contents: Buffer | null }> {
  const text = (start: number, length: number) =>
    archive.toString('latin1', start, start + length).replace(/\0.*$/s, '')
  for (let at = 0; archive[at];) {
    const size = Number.parseInt(text(at + 124, 12), 8) || 0
    const start = at + TAR_RECORD
    const isDirectory = archive[at + 156] === '5'.charCodeAt(0)
    yield { name: text(at, 100), contents: isDirectory ? null : archive.subarray(start, start + size) }
    at = start + Math.ceil(size / TAR_RECORD) * TAR_RECORD
  }
}

/**
 * Writes the template into a new directory. Returns false, and writes nothing, if there is no template for these
 * migrations. PGlite could load the archive too, but would start the database for it. Blocks its thread, because
 * asynchronous writes of many small files take three times as long.
 */
export async function extractTemplate(directory: string): Promise<boolean> {
  const archive = await readArchive()
  if (!archive) return false
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (const { name, contents } of entriesOf(archive)) {
    const path = join(directory, name)
    if (contents) writeFileSync(path, contents, { mode: 0o600 })
    else mkdirSync(path, { recursive: true, mode: 0o700 })
  }
  return true
}
