// @ts-check
// The sources compiled to JavaScript, for `npm start` and for tests that start processes: a start takes three quarters of
// the CPU time of one under tsx, and 100 MB less memory. Compiled once for each version of the sources, and cached in
// node_modules/.cache. This is JavaScript, so that it runs before anything is compiled.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const CACHE = join(root, 'node_modules/.cache')
const NAME = 'colloquy-compiled-'
/** Number of earlier versions to keep, because servers that still run load some of their modules later. */
const KEPT = 3
/** The directories that are compiled. */
const SOURCES = ['src', 'test/demo']

/** The specifier of a relative import of TypeScript. */
const SPECIFIER = /((?:from|import)\s*\(?\s*")(\.\.?\/[^"]+)\.ts"/g

/**
 * Compiles the files into the directory, which has the layout of the repository.
 * @param {readonly string[]} files
 * @param {string} directory
 */
async function compile(files, directory) {
  // Imported only here, because most starts compile nothing.
  const { stop, transform } = await import('esbuild')
  await mkdir(directory, { recursive: true })
  await copyFile(join(root, 'package.json'), join(directory, 'package.json'))
  await cp(join(root, 'prisma'), join(directory, 'prisma'), { recursive: true })
  await Promise.all(
    files.map(async (file) => {
      const [from, to] = [join(root, file), join(directory, file)]
      await mkdir(dirname(to), { recursive: true })
      if (!file.endsWith('.ts')) return copyFile(from, to)
      const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } }
      const { code } = await transform(await readFile(from, 'utf8'), { loader: 'ts', target: 'es2022', tsconfigRaw })
      await writeFile(to.replace(/ts$/, 'js'), code.replace(SPECIFIER, '$1$2.js"'))
    }),
  )
  await stop()
}

/** @param {string} source */
async function filesIn(source) {
  const entries = await readdir(join(root, source), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/**
 * Deletes all but the newest KEPT versions. Keeps the unfinished versions of other processes, whose names contain a dot.
 */
async function dropOld() {
  const names = existsSync(CACHE) ? (await readdir(CACHE)).filter((name) => /^colloquy-compiled-[^.]+$/.test(name)) : []
  const versions = await Promise.all(
    names.map(async (name) => ({ path: join(CACHE, name), at: (await stat(join(CACHE, name))).mtimeMs })),
  )
  const old = versions.sort((a, b) => b.at - a.at).slice(KEPT)
  await Promise.all(old.map(({ path }) => rm(path, { recursive: true, force: true })))
}

/** Returns the directory of the compiled sources. */
async function compileOnce() {
  const files = (await Promise.all(SOURCES.map(filesIn))).flat().sort()
  const migrations = await filesIn('prisma')
  const contents = await Promise.all([...files, ...migrations].map((file) => readFile(join(root, file))))
  const hash = createHash('sha256')
  for (const [index, file] of [...files, ...migrations].entries()) hash.update(file).update(contents[index] ?? '')
  const directory = join(CACHE, NAME + hash.digest('hex').slice(0, 16))
  if (!existsSync(directory)) {
    await dropOld()
    const draft = `${directory}.${process.pid}`
    await compile(files, draft)
    // Another process may have compiled the same sources first.
    await rename(draft, directory).catch(() => rm(draft, { recursive: true }))
  }
  return directory
}

/** @type {Promise<string> | undefined} */
let compiled
/** Returns the path of a compiled source, by default of the command `colloquy`. */
export async function compiledSource(file = 'src/bin.ts') {
  return join(await (compiled ??= compileOnce()), file.replace(/ts$/, 'js'))
}
