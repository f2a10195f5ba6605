// Reads the template of an embedded database: an archive, compressed with Brotli, of a data directory with all
// migrations. scripts/template.ts creates it, so that the first start need not run the migrations. Without a template
// of exactly these migrations, the first start creates an empty database.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

const MIGRATIONS = new URL('../../prisma/migrations/', import.meta.url)

/** Returns the path of the template for the migrations of this version, whether or not it exists. */
export function templatePath(): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(MIGRATIONS).sort()) {
    if (!name.includes('.')) hash.update(name).update(readFileSync(new URL(`${name}/migration.sql`, MIGRATIONS)))
  }
  return fileURLToPath(new URL(`./template/${hash.digest('hex').slice(0, 16)}.tar.br`, import.meta.url))
}

/** Reads the template; null if there is none for these migrations. */
export async function readTemplate(): Promise<Blob | null> {
  const path = templatePath()
  if (!existsSync(path)) return null
  const archive = await promisify(brotliDecompress)(await readFile(path))
  return new Blob([archive], { type: 'application/x-tar' })
}
