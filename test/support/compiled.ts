// The server and the demo compiled to JavaScript, for tests that start them in a process of their own: a start takes half
// the CPU time of one under tsx. Compiled once for each version of the sources, and cached in node_modules/.cache.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stop, transform } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(root, 'node_modules/.cache')
const NAME = 'colloquy-compiled-'
/** The directories that are compiled. */
const SOURCES = ['src', 'test/demo']

/** The specifier of a relative import of TypeScript. */
const SPECIFIER = /((?:from|import)\s*\(?\s*")(\.\.?\/[^"]+)\.ts"/g

/** Compiles the files into the directory, which has the layout of the repository. */
async function compile(files: readonly string[], directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  await symlink(join(root, 'package.json'), join(directory, 'package.json'))
  await symlink(join(root, 'prisma'), join(directory, 'prisma'))
  await Promise.all(
    files.map(async (file) => {
      const [from, to] = [join(root, file), join(directory, file)]
      await mkdir(dirname(to), { recursive: true })
      if (!file.endsWith('.ts')) return symlink(from, to)
      const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } }
      const { code } = await transform(await readFile(from, 'utf8'), { loader: 'ts', target: 'es2022', tsconfigRaw })
      await writeFile(to.replace(/ts$/, 'js'), code.replace(SPECIFIER, '$1$2.js"'))
    }),
  )
  await stop()
}

async function compileOnce(): Promise<string> {
  const read = (source: string) => readdir(join(root, source), { recursive: true, withFileTypes: true })
  const files = (await Promise.all(SOURCES.map(read)))
    .flat()
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(file).update(await readFile(join(root, file)))
  const name = NAME + hash.digest('hex').slice(0, 16)
  const directory = join(CACHE, name)
  if (!existsSync(directory)) {
    // Keeps the unfinished packages of other processes, whose names contain a dot.
    const old = existsSync(CACHE) ? (await readdir(CACHE)).filter((each) => /^colloquy-compiled-[^.]+$/.test(each)) : []
    await Promise.all(old.map((each) => rm(join(CACHE, each), { recursive: true, force: true })))
    const draft = `${directory}.${process.pid}`
    await compile(files, draft)
    // Another process may have compiled the same sources first.
    await rename(draft, directory).catch(() => rm(draft, { recursive: true }))
  }
  return directory
}

let compiled: Promise<string> | undefined
/** Returns the path of a compiled source, by default of the command `colloquy`. Run it with the flags SHORT_LIVED. */
export async function compiledSource(file = 'src/bin.ts'): Promise<string> {
  return join(await (compiled ??= compileOnce()), file.replace(/ts$/, 'js'))
}
