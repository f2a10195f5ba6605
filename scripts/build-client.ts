// Builds the package in packages/client from src/client, src/react and src/ai-sdk, before `npm pack` packs it. The sources
// are copied into the package, because its source maps and declaration maps refer to them.

import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const inRoot = (path: string) => fileURLToPath(new URL(path, root))

await import('./generate-client.ts')
for (const folder of ['dist', 'src']) rmSync(inRoot(`packages/client/${folder}`), { recursive: true, force: true })
for (const folder of ['client', 'react', 'ai-sdk'])
  cpSync(inRoot(`src/${folder}`), inRoot(`packages/client/src/${folder}`), { recursive: true })
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
execFileSync(process.execPath, [tsc, '-p', inRoot('packages/client')], { stdio: 'inherit' })
