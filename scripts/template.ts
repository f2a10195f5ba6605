// Creates the template of the embedded database for the current migrations (src/store/embedded/embedded-template.ts), unless it
// exists. `npm run generate` and `npm run build` run it.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { vector } from '@electric-sql/pglite-pgvector'

import { migrateAsOwner } from '../src/store/db/connections.ts'
import { startEmbedded } from '../src/store/embedded/embedded.ts'
import { templatePath } from '../src/store/embedded/embedded-template.ts'

/**
 * Compresses the archive with Brotli. The result is a third of the size that gzip achieves, because the archive
 * contains copies of the catalogues at distances beyond the window of gzip.
 */
const compress = (archive: Buffer): Promise<Buffer> =>
  promisify(brotliCompress)(archive, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 9,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: archive.length,
    },
  })

/**
 * The last statements that are executed in the template. Only CREATE DATABASE, which Colloquy never runs, needs the
 * databases template0 and template1. Without them, the first start writes half as many files.
 */
const FINISH = [
  'UPDATE pg_database SET datistemplate = false',
  'DROP DATABASE template0',
  'DROP DATABASE template1',
  'VACUUM (ANALYZE)',
  'CHECKPOINT',
]

const log = { info() {}, warn: console.warn }

async function make(path: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-template-'))
  try {
    const embedded = await startEmbedded(directory)
    try {
      await migrateAsOwner({}, embedded, log)
    } finally {
      await embedded.close()
    }
    const db = await PGlite.create({ dataDir: join(directory, 'postgres'), extensions: { pg_trgm, vector } })
    for (const statement of FINISH) await db.exec(statement)
    const template = Buffer.from(await (await db.dumpDataDir('none')).arrayBuffer())
    await db.close()
    mkdirSync(dirname(path), { recursive: true })
    // Templates of other migrations are out of date.
    for (const name of readdirSync(dirname(path))) rmSync(join(dirname(path), name))
    const draft = `${path}.${process.pid}`
    await writeFile(draft, await compress(template))
    renameSync(draft, path)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const path = templatePath()
if (!existsSync(path)) await make(path)
