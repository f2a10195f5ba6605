// @ts-check
// Bundles the command `colloquy` and its dependencies into one CommonJS script: loading 1,200 modules takes longer than
// everything else that a start does.

import { readFile, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** Packages that stay outside: some read files at paths relative to their own, and others are optional or seldom used. */
const EXTERNAL = ['@electric-sql/*', '@graphql-yoga/render-graphiql', '@huggingface/transformers', 'pg-native']

/**
 * Replaces import.meta.url of a source by the URL of its compiled module, next to which are its assets and threads.
 * @param {string} root
 * @returns {import('esbuild').Plugin}
 */
const moduleUrls = (root) => ({
  name: 'module-urls',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\].*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      if (path.includes(`${sep}node_modules${sep}`) || !source.includes('import.meta.url')) return null
      const compiled = relative(root, path).replaceAll(sep, '/').replace(/ts$/, 'js')
      const url = `new URL(${JSON.stringify(compiled)}, BUNDLE_URL).href`
      return { contents: source.replaceAll('import.meta.url', url), loader: 'ts' }
    })
  },
})

/**
 * Leaves Prisma's query compiler outside, as CommonJS, which require() can load.
 * @type {import('esbuild').Plugin}
 */
const queryCompiler = {
  name: 'query-compiler',
  setup({ onResolve }) {
    onResolve({ filter: /^@prisma\/client\/runtime\/query_compiler_.*\.mjs$/ }, ({ path }) => ({
      path: path.replace(/mjs$/, 'js'),
      external: true,
    }))
  },
}

/** A class that the bundler renamed: `var Client2 = class extends …`, or `Client = class _Client …`. */
const RENAMED = /^( *(?:var )?(?:(\w+?)\d+ = class|\w+ = class _(\w+))(?: _\w+)?(?: extends .+)? \{)$/gm

/**
 * Gives renamed classes their own name, which the log shows as the type of an error. The bundler could keep the names of
 * functions too, but would then define the name of each closure when it is created.
 * @param {string} code
 */
export const withClassNames = (code) =>
  code.replace(
    RENAMED,
    (line, _, name, inner) => `${line} static { Object.defineProperty(this, "name", { value: "${name ?? inner}" }); }`,
  )

/**
 * Escapes characters that are not ASCII. With one of them, V8 stores the source with two bytes a character.
 * @param {string} code
 */
export const asAscii = (code) =>
  code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/**
 * @param {string} root of the repository
 * @param {string} directory of the compiled sources
 * @param {string} outfile in that directory
 */
export async function bundleCommand(root, directory, outfile) {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    write: false,
    absWorkingDir: root,
    entryPoints: ['src/bin.ts'],
    outfile: join(directory, outfile),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'es2022',
    external: EXTERNAL,
    plugins: [moduleUrls(root), queryCompiler],
    // Scripts in a virtual machine context, as with a code cache, have no import() without an experimental API.
    supported: { 'dynamic-import': false },
    banner: { js: `const BUNDLE_URL = require('node:url').pathToFileURL(__filename).href;` },
    // Dependencies that are ES modules.
    define: { 'import.meta.url': 'BUNDLE_URL' },
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'error',
    logOverride: { 'empty-import-meta': 'silent' },
  })
  await Promise.all(
    outputFiles.map(({ path, text }) => writeFile(path, path.endsWith('.map') ? text : asAscii(withClassNames(text)))),
  )
}
