// @ts-check
// Bundles the command `colloquy` and its dependencies into one CommonJS script, because loading 1,200 modules would
// take most of the time of a start.

import { readFile, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** Packages that are not bundled: some read files by relative paths, and others are optional or seldom used. */
const EXTERNAL = ['@electric-sql/*', '@graphql-yoga/render-graphiql', '@huggingface/transformers', 'pg-native']

/**
 * Replaces import.meta.url in a source by the URL of its compiled module, whose directory contains its assets and
 * threads.
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
 * Excludes Prisma's query compiler from the bundle, and imports its CommonJS version, which require() can load.
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
 * Restores the names of renamed classes, because the log contains them as the types of errors. The bundler's own option
 * keeps the names of functions as well, but then each closure would be named when it is created, which takes time.
 * @param {string} code
 */
export const withClassNames = (code) =>
  code.replace(
    RENAMED,
    (line, _, name, inner) => `${line} static { Object.defineProperty(this, "name", { value: "${name ?? inner}" }); }`,
  )

/**
 * Escapes characters that are not ASCII. If a source contains one, V8 stores the source with two bytes per character.
 * @param {string} code
 */
export const asAscii = (code) =>
  code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/**
 * Writes the bundle and its source map.
 * @param {string} root directory of the repository
 * @param {string} directory directory of the compiled sources
 * @param {string} outfile file name of the bundle in `directory`
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
    // Defined for dependencies that are ES modules.
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
