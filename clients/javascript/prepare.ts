// Writes to generated/: the files that docs/streaming-and-subscriptions.md shows, and relay/program.ts as
// babel-plugin-relay compiles it.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
// @ts-expect-error The package has no types.
import { transformFileSync } from '@babel/core'

const document = readFileSync('../../docs/streaming-and-subscriptions.md', 'utf8')
/**
 * Changes a file of the document so that it uses the client of this checkout and, when it runs, the server whose
 * `<host>:<port>` is in COLLOQUY.
 */
const addressed = (code: string) =>
  code
    .replace(/'(\w+):\/\/127\.0\.0\.1:4000\/graphql'/g, '`$1://${process.env.COLLOQUY}/graphql`')
    .replace("'colloquy-client'", "'../../../../src/client/index.ts'")

mkdirSync('generated/recipes', { recursive: true })
for (const [, name, code] of document.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)) {
  writeFileSync(`generated/recipes/${name}`, addressed(code!))
}
const [, follow] = /^```js\n([\s\S]*?)^```$/m.exec(document)!
writeFileSync('generated/recipes/follow.ts', `// @ts-nocheck\n${addressed(follow!)}`)

const compiled = transformFileSync('relay/program.ts', {
  // The plugin makes the imports of artifacts relative to this file.
  filename: 'generated/relay-program.ts',
  parserOpts: { plugins: ['typescript'] },
  plugins: [['relay', { eagerEsModules: true, artifactDirectory: 'generated/relay' }]],
})
writeFileSync('generated/relay-program.ts', compiled.code)
