// `npm run build` generates the types of the client, compiles src to JavaScript and declarations in dist/, and copies
// the files that the code reads at run time.

import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const inRoot = (path: string) => fileURLToPath(new URL(path, root))

/** Files read at run time, copied to the same path, because modules read them by relative path. */
const ASSETS = ['providers/openai/prompts', 'providers/static/word-vectors.bin', 'server/graphiql', 'store/template']

await import('./generate-client.ts')
// A template for the current migrations, which may be newer than the last `npm run prepare`.
await import('./template.ts')
rmSync(inRoot('dist'), { recursive: true, force: true })
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
execFileSync(process.execPath, [tsc, '-p', inRoot('tsconfig.build.json')], { stdio: 'inherit' })
for (const asset of ASSETS) cpSync(inRoot(`src/${asset}`), inRoot(`dist/${asset}`), { recursive: true })
chmodSync(inRoot('dist/bin.js'), 0o755)
