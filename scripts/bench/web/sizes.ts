// The compressed sizes of the web app: what a browser loads before the first page is shown, and what each panel adds.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import type { Row } from './table.ts'

/** Maximum size of the first load, KiB. */
const LIMIT_KIB = 160
const QUALITY = 9

const compressed = (content: Buffer) =>
  brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY } }).length / 1024

/** Returns the sizes of the app that a checkout has built. */
export async function sizes(root: string): Promise<Row[]> {
  const directory = join(root, 'src/server/pages/web')
  const names = await readdir(directory)
  const files = new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name))] as const)),
  )
  /** Adds the file and all that it imports statically. */
  function withImports(name: string, loaded = new Set<string>()): Set<string> {
    if (loaded.has(name)) return loaded
    loaded.add(name)
    for (const [, imported] of String(files.get(name)).matchAll(/(?:from|import)"\.\/([^"]+)"/g))
      withImports(imported!, loaded)
    return loaded
  }
  const sizeOf = (loaded: Iterable<string>) => [...loaded].reduce((sum, name) => sum + compressed(files.get(name)!), 0)
  const main = names.find((name) => /^main-.*\.js$/.test(name))!
  const first = withImports(main)
  const pages = names.filter((name) => /\.(html|css)$/.test(name))
  // The panels are imported in the order of their components.
  const source = await readFile(join(root, 'src/web/workspace/panels.tsx'), 'utf8')
  const labels = [...source.matchAll(/import\('\.\.\/(\w+)\/panel\.tsx'\)/g)].map(([, label]) => label!)
  const panels = [...String(files.get(main)).matchAll(/import\("\.\/(panel-[^"]+)"\)/g)].map(([, name]) => name!)
  if (panels.length !== labels.length) throw new Error(`${labels.length} panels have ${panels.length} files`)
  return [
    { label: 'first load, brotli', unit: 'KiB', value: sizeOf([...pages, ...first]), limit: LIMIT_KIB },
    ...panels.map((name, index) => ({
      label: `  panel ${labels[index]}`,
      unit: 'KiB',
      value: sizeOf([...withImports(name)].filter((each) => !first.has(each))),
    })),
  ]
}
