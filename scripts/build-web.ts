// Builds the web app from src/web into src/server/pages/web: scripts and styles whose names contain a digest of their
// content, and index.html, which names them. `npm run generate` and `npm run build` run it; with `--watch`, it builds again
// after each change.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { context, type BuildOptions, type BuildResult, type Metafile, type Plugin } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const SOURCES = join(root, 'src/web')
const OUTPUT = join(root, 'src/server/pages/web')

/** Returns the scripts that a script imports before it runs, directly or not. */
function importsOf(outputs: Metafile['outputs'], path: string, found = new Set<string>()): Set<string> {
  for (const { path: imported, kind } of outputs[path]!.imports) {
    if (kind !== 'import-statement' || found.has(imported)) continue
    found.add(imported)
    importsOf(outputs, imported, found)
  }
  return found
}

/** Replaces the files of the previous build. */
async function store({ outputFiles, metafile }: BuildResult): Promise<void> {
  const { outputs } = metafile!
  // The entry point has a script and a style sheet with the same name.
  const entry = Object.keys(outputs).find((path) => outputs[path]!.entryPoint?.endsWith('main.tsx'))!
  const [script, style] = [entry, outputs[entry]!.cssBundle!].map((path) => basename(path))
  // The browser requests these scripts before it has read the one that imports them.
  const preloads = [...importsOf(outputs, entry)].map(
    (path) => `<link rel="modulepreload" href="/web/${basename(path)}">`,
  )
  const html = await readFile(join(SOURCES, 'index.html'), 'utf8')
  await rm(OUTPUT, { recursive: true, force: true })
  await mkdir(OUTPUT, { recursive: true })
  await Promise.all(outputFiles!.map(({ path, contents }) => writeFile(join(OUTPUT, basename(path)), contents)))
  await writeFile(
    join(OUTPUT, 'index.html'),
    html
      .replace('"main.css"', `"/web/${style}"`)
      .replace('"main.js"', `"/web/${script}"`)
      .replace('</head>', `  ${preloads.join('\n    ')}\n  </head>`),
  )
}

const storing: Plugin = {
  name: 'store',
  setup: ({ onEnd }) => onEnd(async (result) => (result.errors.length > 0 ? undefined : store(result))),
}

/** Options of the build. */
const OPTIONS: BuildOptions = {
  absWorkingDir: root,
  entryPoints: ['src/web/main.tsx'],
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  outdir: OUTPUT,
  bundle: true,
  // A panel is loaded when it is opened first.
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome111', 'firefox115', 'safari16.4'],
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
  tsconfig: 'src/web/tsconfig.json',
  metafile: true,
  write: false,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [storing],
}

const building = await context(OPTIONS)
const { metafile } = await building.rebuild()
if (process.argv.includes('--watch')) await building.watch()
else await building.dispose()

/** Paths of the files of packages that the web app contains. */
export const bundledFiles: readonly string[] = Object.keys(metafile!.inputs)
  .filter((path) => path.startsWith('node_modules/'))
  .map((path) => join(root, path))
