// Puts packages that users need not install into dist/vendor/, with their licences:
// - graphql-yoga, its dependencies and its GraphiQL. A dependency of yoga requires Node 22.15 without need: `overrides`
//   install a version for Node 20 here, but have no effect in the projects of users, where npm would warn and install a
//   version that is not tested. An older executor is no way out: the newest one without such a dependency (2.0.1) orders
//   the fields of an object by the time at which they resolve.
// - the SDK of MCP, whose 96 packages (express, hono and others) are not used by its parts that Colloquy imports.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { asAscii, withClassNames } from './bundle.js'

/** The packages that are bundled, each with its used exports in one file of `vendor`. */
const BUNDLED: Record<string, string> = { 'graphql-yoga': 'graphql-yoga.js', '@modelcontextprotocol/sdk': 'mcp-sdk.js' }
/** Copied as it is: a module without imports, of several megabytes. Its package requires yoga as a peer. */
const GRAPHIQL = '@graphql-yoga/render-graphiql/graphiql'
const GRAPHIQL_FILE = 'graphiql.js'

/** Packages that bundles import instead of containing them: Colloquy imports them, too, and compares their objects. */
const EXTERNAL = ['graphql', 'zod', 'zod/*']

const NAMES = [...Object.keys(BUNDLED), GRAPHIQL].join('|')
/** An import of a module of these packages in a compiled module: any, and those that are replaced. */
const ANY_IMPORT = new RegExp(`(?:from |import |import\\()'(?:${NAMES})['/]`)
const IMPORT = new RegExp(`(import \\{ ([^}]+) \\} from |import\\()'((${NAMES})(?:/[^']*)?)'`, 'g')

/** The bundle contains CommonJS modules, which require modules of Node. */
const BANNER = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)`

/** Returns the directories of the packages that contain the files, sorted. */
const packagesOf = (paths: string[]): string[] =>
  [...new Set(paths.flatMap((path) => /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []))].sort()

/** Returns the licence of a package: its file or, if there is none, the licence and the author that package.json names. */
function licenceOf(directory: string): string {
  const { name, version, license, author } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const file = readdirSync(directory).find((each) => /^(licen[cs]e|copying)/i.test(each))
  const text = file ? readFileSync(join(directory, file), 'utf8') : [license, author?.name ?? author].join(', ')
  return `${name} ${version}\n\n${text.trim()}\n`
}

/** Bundles the exports of a package's modules. Returns the code, and the paths of the bundled files. */
async function bundle(root: string, modules: ReadonlyMap<string, ReadonlySet<string>>) {
  const exported = [...modules].map(([from, names]) => `export { ${[...names].sort().join(', ')} } from '${from}'`)
  const { outputFiles, metafile } = await build({
    stdin: { contents: exported.sort().join('\n'), resolveDir: root },
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'es2022',
    external: EXTERNAL,
    banner: { js: BANNER },
    legalComments: 'none',
    logLevel: 'error',
  })
  const paths = Object.keys(metafile.inputs).map((path) => join(root, path))
  return { code: asAscii(withClassNames(outputFiles[0]!.text)), paths }
}

/** By package: the imported modules of it, with the names that are imported from each. */
type Used = Map<string, Map<string, Set<string>>>

/** Makes a compiled module import the files of `vendor`. Adds what it imports to `used`. */
function replaceImports(path: string, vendor: string, used: Used): void {
  const text = readFileSync(path, 'utf8')
  if (!ANY_IMPORT.test(text)) return
  const replaced = text.replaceAll(
    IMPORT,
    (_, start: string, names: string | undefined, from: string, name: string) => {
      const modules = used.get(name)
      const imported = names?.split(',').map((each) => each.trim().replace(/ as .*/, '')) ?? []
      modules?.set(from, new Set([...(modules.get(from) ?? []), ...imported.filter(Boolean)]))
      const to = relative(dirname(path), join(vendor, BUNDLED[name] ?? GRAPHIQL_FILE)).replaceAll(sep, '/')
      return `${start}'${to.startsWith('.') ? to : `./${to}`}'`
    },
  )
  if (ANY_IMPORT.test(replaced)) throw new Error(`${path} has an import that this script does not replace.`)
  writeFileSync(path, replaced)
}

/**
 * Writes `vendor` into the directory of the compiled modules, and makes them import its files.
 * @param root directory of the repository
 * @param bundledFiles files of packages that other parts of `dist` contain, whose licences are added
 */
export async function vendorPackages(root: string, dist: string, bundledFiles: readonly string[]): Promise<void> {
  const vendor = join(dist, 'vendor')
  const used: Used = new Map(Object.keys(BUNDLED).map((name) => [name, new Map()]))
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.js')) replaceImports(join(dist, name), vendor, used)
  mkdirSync(vendor, { recursive: true })
  const graphiql = fileURLToPath(import.meta.resolve(GRAPHIQL))
  copyFileSync(graphiql, join(vendor, GRAPHIQL_FILE))
  const contained = [graphiql, ...bundledFiles]
  for (const [name, modules] of used) {
    const { code, paths } = await bundle(root, modules)
    writeFileSync(join(vendor, BUNDLED[name]!), code)
    contained.push(...paths)
  }
  const licences = new Set(packagesOf(contained).map(licenceOf))
  writeFileSync(join(vendor, 'LICENSES.txt'), [...licences].join('\n\n'))
}
