// Puts graphql-yoga, its dependencies and its GraphiQL into dist/vendor/, with their licences. A dependency of yoga
// requires Node 22.15 without need: `overrides` install a version for Node 20 here, but have no effect in the projects
// of users, where npm would warn and install a version that is not tested. An older executor is no way out: the newest
// one without such a dependency (2.0.1) orders the fields of an object by the time at which they resolve.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { asAscii, withClassNames } from './bundle.js'

const YOGA = 'graphql-yoga'
/** Copied as it is: a module without imports, of several megabytes. Its package requires yoga as a peer. */
const GRAPHIQL = '@graphql-yoga/render-graphiql/graphiql'
const FILES: Record<string, string> = { [YOGA]: 'graphql-yoga.js', [GRAPHIQL]: 'graphiql.js' }

/** An import of one of the packages in a compiled module: any, and those that are replaced, one in a module. */
const ANY_IMPORT = new RegExp(`(?:from |import |import\\()'(?:${YOGA}|@graphql-yoga/[^']+)'`)
const IMPORT = new RegExp(`(?:import \\{ ([^}]+) \\} from |import\\()'(${Object.keys(FILES).join('|')})'`)

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

/** Bundles these exports of yoga. Returns the code, and the paths of the bundled files. */
async function bundleYoga(root: string, names: string[]): Promise<{ code: string; paths: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export { ${names.join(', ')} } from '${YOGA}'`, resolveDir: root },
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'es2022',
    // Errors and types must be those of the graphql package that Colloquy imports.
    external: ['graphql'],
    banner: { js: BANNER },
    legalComments: 'none',
    logLevel: 'error',
  })
  const paths = Object.keys(metafile.inputs).map((path) => join(root, path))
  return { code: asAscii(withClassNames(outputFiles[0]!.text)), paths }
}

/**
 * Writes `vendor` into the directory of the compiled modules, and makes them import its files.
 * @param root directory of the repository
 */
export async function vendorYoga(root: string, dist: string): Promise<void> {
  const vendor = join(dist, 'vendor')
  const used = new Set<string>()
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((each) => each.endsWith('.js'))) {
    const path = join(dist, name)
    const text = readFileSync(path, 'utf8')
    if (!ANY_IMPORT.test(text)) continue
    const [line = '', names, from = YOGA] = IMPORT.exec(text) ?? []
    for (const each of names?.split(', ') ?? []) used.add(each)
    const to = relative(dirname(path), join(vendor, FILES[from]!)).replaceAll(sep, '/')
    const replaced = text.replace(line, line.replace(from, to.startsWith('.') ? to : `./${to}`))
    if (ANY_IMPORT.test(replaced))
      throw new Error(`${name} imports ${from} in a form that this script does not replace.`)
    writeFileSync(path, replaced)
  }
  mkdirSync(vendor, { recursive: true })
  const { code, paths } = await bundleYoga(root, [...used].sort())
  writeFileSync(join(vendor, FILES[YOGA]!), code)
  const graphiql = fileURLToPath(import.meta.resolve(GRAPHIQL))
  copyFileSync(graphiql, join(vendor, FILES[GRAPHIQL]!))
  writeFileSync(
    join(vendor, 'LICENSES.txt'),
    [...new Set(packagesOf([...paths, graphiql]).map(licenceOf))].join('\n\n'),
  )
}
