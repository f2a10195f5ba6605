// `npm run build` generates the types of the client, compiles src to JavaScript and declarations in dist/, adds the
// packages that users need not install, and copies the files that the code reads at run time.

import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { vendorPackages } from './vendor.ts'

const root = new URL('../', import.meta.url)
const inRoot = (path: string) => fileURLToPath(new URL(path, root))

/** Files that the code reads at run time. They keep their paths, because modules read them by relative paths. */
const ASSETS = [
  'providers/openai/prompts',
  'text/word-vectors.bin',
  'server/pages/graphiql/assets',
  'server/pages/web',
  'store/template',
]

await import('./generate-client.ts')
const { bundledFiles } = await import('./build-web.ts')
// Creates the database template again: the migrations may have changed since the last `npm run generate`.
await import('./template.ts')
rmSync(inRoot('dist'), { recursive: true, force: true })
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
execFileSync(process.execPath, [tsc, '-p', inRoot('tsconfig.build.json')], { stdio: 'inherit' })
await vendorPackages(inRoot(''), inRoot('dist'), bundledFiles)
for (const asset of ASSETS) cpSync(inRoot(`src/${asset}`), inRoot(`dist/${asset}`), { recursive: true })
chmodSync(inRoot('dist/bin.js'), 0o755)
