// `npm run products`: compiles src/domain/memory/recall/index/products.wat to products-wasm.ts in the same directory.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import wabt from 'wabt'

const pathOf = (name: string) => fileURLToPath(new URL(`../src/domain/memory/recall/index/${name}`, import.meta.url))
const SOURCE = pathOf('products.wat')

/** Returns the text of products-wasm.ts. */
export async function compileProducts(): Promise<string> {
  const { parseWat } = await wabt()
  const { buffer } = parseWat(SOURCE, readFileSync(SOURCE, 'utf8'), { simd: true }).toBinary({})
  return `// Compiled from products.wat by \`npm run products\`.\n\nexport const PRODUCTS = '${Buffer.from(buffer).toString('base64')}'\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(pathOf('products-wasm.ts'), await compileProducts())
