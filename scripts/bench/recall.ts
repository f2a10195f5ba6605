// `npm run bench:recall -- FILE…`: imports conversations of LoCoMo or REALTALK through the public API, recalls turns for
// their questions, and prints the share of the evidence among the first hits, beside that of BM25 alone. A missed aim is
// only printed; a run that throws sets exit code 1. `npm run bench:signals` measures what each signal is worth.

import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { answersOfBm25 } from './bm25-alone.ts'
import { note } from './figures.ts'
import { filesFound, readConversation, scoreTable, type AnsweredQuestion } from './locomo.ts'
import { endProcesses, startServer } from './process.ts'
import { createProgress } from './progress.ts'
import { createClient, type Imported } from './recall-client.ts'
import { dropDatabases, withDatabase } from './services.ts'

const USAGE = `Usage: npm run bench:recall -- [--postgres | --url URL] FILE…

FILE        a conversation of LoCoMo or REALTALK
--postgres  use the Postgres of TEST_DATABASE_URL instead of the embedded database
--url URL   use the GraphQL endpoint of a running server, and measure only with vectors; the conversations are deleted
            afterwards

EMBEDDER and its settings are read from the environment, as by the server.`

/** The usage text, with the files found next to the repository. */
function usage(): string {
  const paths = filesFound().map((path) => relative(process.cwd(), path))
  return paths.length ? `${USAGE}\n\nFiles found: ${paths.join(' ')}` : USAGE
}

function exitWithError(message: string): never {
  console.error(message)
  process.exit(2)
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { url: { type: 'string' }, postgres: { type: 'boolean' } },
    })
    if (!positionals.length || (values.url && values.postgres)) exitWithError(usage())
    return { ...values, conversations: positionals.map(readConversation) }
  } catch (error) {
    exitWithError(`${(error as Error).message}\n\n${usage()}`)
  }
}

const { url, postgres, conversations } = readArguments()
const databaseServer = process.env.TEST_DATABASE_URL
if (postgres && !databaseServer) exitWithError('--postgres needs a Postgres with pgvector. Set TEST_DATABASE_URL.')

const progress = createProgress(process.stderr)
const report = (label: string) => (done: number, total: number) => progress.show(label, done, total)
const tenant = `bench-${randomBytes(6).toString('hex')}`
const methods: { name: string; answered: AnsweredQuestion[] }[] = []
const notes: string[] = []

/** Waits until every turn has a vector, and asks the questions. */
async function askWithVectors(client: ReturnType<typeof createClient>, imported: Imported[]): Promise<void> {
  const embedder = await client.vectors(report('vectors'))
  const { answered, hits, withVector } = await client.answers(imported, report('with vectors'))
  methods.push({ name: 'with vectors', answered })
  notes.push(`Vectors: ${embedder}.`)
  if (withVector < hits) notes.push(`${hits - withVector} of ${hits} hits had no vector.`)
}

async function onRunningServer(address: string): Promise<void> {
  const client = createClient(address, tenant)
  const imported = await client.import(conversations, report('import'))
  try {
    await askWithVectors(client, imported)
  } finally {
    await client.remove(imported)
  }
}

/** Runs the server on the given database, then recall-server.ts, which uses no vectors, on the same database. */
async function onOwnServers(database: Record<string, string>): Promise<void> {
  const env = { HOST: '127.0.0.1', LOG_LEVEL: 'info', DATABASE_URL: '', REDIS_URL: '', ...database }
  let imported: Imported[] = []
  const run = async (file: string, use: (client: ReturnType<typeof createClient>) => Promise<void>) => {
    const server = await startServer(file, env)
    try {
      await use(createClient(`http://127.0.0.1:${server.port}/graphql`, tenant))
    } finally {
      await server.stop()
    }
  }
  await run('src/bin.ts', async (client) => {
    imported = await client.import(conversations, report('import'))
    await askWithVectors(client, imported)
  })
  await run('scripts/bench/recall-server.ts', async (client) => {
    const { answered, withVector } = await client.answers(imported, report('without vectors'))
    if (withVector > 0) throw new Error('Some hits have a similarity, although every query vector is zero.')
    methods.push({ name: 'without vectors', answered })
  })
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endProcesses()
    void dropDatabases().finally(() => process.exit(130))
  })
}

try {
  if (url) {
    await onRunningServer(url)
  } else if (postgres) {
    await withDatabase(databaseServer!, (databaseUrl) => onOwnServers({ DATABASE_URL: databaseUrl }))
  } else {
    const dataDir = await mkdtemp(join(tmpdir(), 'colloquy-bench-'))
    process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
    await onOwnServers({ DATA_DIR: dataDir })
  }
} catch (error) {
  progress.end()
  console.error('bench:recall failed:', error)
  process.exit(1)
}
progress.end()
methods.push({ name: 'BM25 alone', answered: conversations.flatMap(answersOfBm25) })

const turns = conversations.reduce((sum, each) => sum + each.turns.length, 0).toLocaleString('en-US')
const where = url ?? (postgres ? 'Postgres' : 'the embedded database')
console.log(
  [
    `\n## Evidence recall on ${conversations.map(({ set, name }) => `${set} ${name}`).join(', ')}\n`,
    ...scoreTable(methods),
    '',
    ...[
      'Share of the evidence turns of a question among the first 5, 10 and 20 recalled; mean over all questions, in '
        + `percent. ${turns} turns; each question is asked once, over HTTP, in its own conversation, k 20.`,
      'session@10: the share of the questions for which the first 10 include a turn of a session with evidence. several@10: '
        + 'of questions with several turns of evidence. BM25 alone: each turn by its own words.',
      `On ${where}; times are measured by the client, one question at a time.`,
      ...notes,
    ].map(note),
  ].join('\n'),
)
process.exit(0)
