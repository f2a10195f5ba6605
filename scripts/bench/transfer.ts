// Measures export and import on the embedded database, and checks that what was imported is exported with the same hash:
// `npm run bench:transfer -- 100000` writes a file with that many turns, imports it by the command in a process of its
// own, and exports it again. Prints the rates, and the greatest resident memory of each process.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chainHash, FIRST_HASH, sha256 } from '../../src/domain/trust/transfer/format.ts'
import { newId } from '../../src/domain/kernel/id.ts'

const TURNS_OF_CONVERSATION = 200
const WORDS = 'harbour garden plan boat winter letter music paper stone river ticket window summer answer market'.split(
  ' ',
)
const BIN = fileURLToPath(new URL('../../src/bin.ts', import.meta.url))
/** Writes the peak of the process's resident memory, in KiB, to the file descriptor 3. */
const REPORT_PEAK =
  'data:text/javascript,import{writeSync}from"node:fs";process.on("exit",()=>writeSync(3,String(process.resourceUsage().maxRSS)))'

/** Returns a text of about 30 words. */
const textOf = (n: number) =>
  Array.from({ length: 30 }, (_, index) => WORDS[(n * 7 + index * (1 + (n % 5))) % WORDS.length]).join(' ') + ` ${n}.`

/** Yields the lines of a conversation. */
function* conversationLines(number: number, turns: number): Generator<object> {
  const at = new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString()
  const id = newId('conversation')
  yield {
    type: 'conversation',
    id,
    visibility: 'OPEN',
    owner: 'ann',
    metadata: {},
    triggerTurns: 50,
    triggerTokens: 8000,
    compactionStrategy: 'ROLLING',
    retention: 'FULL',
    maxAgentTurns: 6,
    version: 1,
    createdAt: at,
    lastSeq: turns,
    updatedAt: at,
    agentTurns: 0,
    extractedThrough: 0,
  }
  for (let seq = 1; seq <= turns; seq++) {
    const [actor, role] = seq % 2 ? ['ann', 'USER'] : ['bot', 'ASSISTANT']
    const text = textOf(number * 1000 + seq)
    const turn = {
      id: newId('turn'),
      position: seq,
      actor,
      role,
      status: 'COMMITTED',
      text,
      tokenCount: 35,
      createdAt: at,
    }
    yield { type: 'entry', seq, kind: 'APPENDED', at, turn }
  }
  for (const [actor, kind] of [
    ['ann', 'HUMAN'],
    ['bot', 'AGENT'],
  ]) {
    yield {
      type: 'participant',
      actor,
      kind,
      historyVisibility: 'ALL',
      metadata: {},
      joinedAt: at,
      windows: [1],
      respond: 'NEVER',
    }
  }
  yield { type: 'conversationEnd', id }
}

/** Writes a file with that many turns, and returns the hash of its lines. */
async function writeFile(path: string, turns: number): Promise<string> {
  const file = createWriteStream(path)
  const manifest = JSON.stringify({ type: 'manifest', format: 'colloquy-transcript', version: 1, scope: 'TENANT' })
  file.write(`${manifest}\n`)
  let [chain, lines] = [FIRST_HASH, 0]
  const counts: Record<string, number> = {}
  for (let begun = 0; begun < turns; begun += TURNS_OF_CONVERSATION) {
    for (const line of conversationLines(begun, Math.min(TURNS_OF_CONVERSATION, turns - begun))) {
      const type = (line as { type: string }).type
      const text = JSON.stringify(type === 'conversationEnd' ? { ...line, sha256: chain } : line)
      chain = chainHash(chain, text)
      lines++
      counts[type] = (counts[type] ?? 0) + 1
      if (!file.write(`${text}\n`)) await once(file, 'drain')
    }
  }
  const end = { type: 'end', lines, counts, sha256: chain, manifestSha256: sha256(manifest) }
  file.end(`${JSON.stringify(end)}\n`)
  await once(file, 'close')
  return chain
}

/** Runs the command. Returns its time in seconds, and the peak of its memory in MiB. */
async function run(args: string[], dataDir: string): Promise<{ seconds: number; peak: number }> {
  const begun = performance.now()
  const child = spawn(process.execPath, ['--import', 'tsx', '--import', REPORT_PEAK, BIN, ...args], {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  })
  let report = ''
  child.stdio[3]!.on('data', (text: Buffer) => (report += text.toString()))
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`colloquy ${args.join(' ')} ended with code ${code}`)
  return { seconds: (performance.now() - begun) / 1000, peak: Math.round(Number(report) / 1024) }
}

const turns = Number(process.argv[2] ?? 100_000)
const directory = await mkdtemp(join(tmpdir(), 'colloquy-transfer-'))
const [given, exported, dataDir] = ['given.jsonl', 'exported.jsonl', 'data'].map((name) => join(directory, name)) as [
  string,
  string,
  string,
]
try {
  const hash = await writeFile(given, turns)
  const mebibytes = Math.round((await stat(given)).size / 2 ** 20)
  console.log(`${turns.toLocaleString('en-US')} turns, ${mebibytes} MiB`)
  const show = (verb: string, { seconds, peak }: { seconds: number; peak: number }) =>
    console.log(
      `${verb}: ${seconds.toFixed(1)} s, ${Math.round((turns / seconds) * 60).toLocaleString('en-US')} turns a minute, peak ${peak} MiB`,
    )
  show('import', await run(['import', given], dataDir))
  show('import again', await run(['import', given], dataDir))
  show('export', await run(['export', '--all', '--out', exported], dataDir))
  const end = JSON.parse((await readFile(exported, 'utf8')).trimEnd().split('\n').at(-1)!) as { sha256: string }
  console.log(end.sha256 === hash ? 'The hashes are equal.' : `The hashes differ: ${hash} and ${end.sha256}`)
  if (end.sha256 !== hash) process.exitCode = 1
} finally {
  await rm(directory, { recursive: true })
}
