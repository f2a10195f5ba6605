// @ts-check
// Compiles the sources to JavaScript modules, and the command to one bundle, for `npm start` and for tests that start
// processes. The result for each version of the sources is cached in node_modules/.cache. This file is JavaScript, so
// that it runs without being compiled.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleCommand } from './bundle.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const CACHE = join(root, 'node_modules/.cache')
const NAME = 'colloquy-compiled-'
/** Number of earlier versions to keep, because running servers may still load modules of them. */
const KEPT = 3
/** The directories that are compiled. The Dockerfile copies only the first one. */
const SOURCES = ['src', 'scripts/bench', 'scripts/demo', 'test/support']
/** Other files on which the result depends. npm writes the last one when it installs packages. */
const BASIS = ['package.json', 'scripts/compiled.js', 'scripts/bundle.js', 'node_modules/.package-lock.json']
const BUNDLE = 'colloquy.cjs'

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
  await bundleCommand(root, directory, BUNDLE)
  await stop()
}

/**
 * Returns the files of a directory, and none if it does not exist.
 * @param {string} source
 */
const filesIn = (source) =>
  (existsSync(join(root, source)) ? readdirSync(join(root, source), { recursive: true, withFileTypes: true }) : [])
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))

/**
 * Deletes all but the newest KEPT versions. Keeps unfinished versions of other processes: their names contain a dot.
 */
async function dropOld() {
  const names = existsSync(CACHE) ? (await readdir(CACHE)).filter((name) => /^colloquy-compiled-[^.]+$/.test(name)) : []
  const versions = await Promise.all(
    names.map(async (name) => ({ path: join(CACHE, name), at: (await stat(join(CACHE, name))).mtimeMs })),
  )
  const old = versions.sort((a, b) => b.at - a.at).slice(KEPT)
  await Promise.all(old.map(({ path }) => rm(path, { recursive: true, force: true })))
}

/**
 * Compiles the sources unless this version is cached, and returns the directory. The version is a digest of the files'
 * sizes and times of modification, because reading all files at each start would take 0.3 s.
 */
async function compileOnce() {
  // The web app is built by build-web.ts.
  const files = SOURCES.flatMap(filesIn)
    .filter((file) => !file.startsWith(join('src', 'web')))
    .sort()
  const hash = createHash('sha256')
  for (const file of [...files, ...filesIn('prisma').sort(), ...BASIS]) {
    const stats = statSync(join(root, file), { throwIfNoEntry: false })
    hash.update(`${file} ${stats?.size} ${stats?.mtimeMs}\n`)
  }
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
/** Returns the path of the bundled command `colloquy`, a CommonJS script. */
export async function bundledCommand() {
  return join(await (compiled ??= compileOnce()), BUNDLE)
}

/** Returns the path of a compiled source, by default of the command `colloquy`. */
export async function compiledSource(file = 'src/bin.ts') {
  return join(await (compiled ??= compileOnce()), file.replace(/ts$/, 'js'))
}
