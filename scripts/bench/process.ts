// The child processes of a benchmark: servers, which print their URL as JSON, and workers, which answer messages. All
// of them are killed when this process exits.

import { fork, spawn, type ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const running = new Set<ChildProcess>()

/** Kills all child processes, for an interrupted run. */
export function endProcesses(): void {
  for (const child of running) child.kill('SIGKILL')
}
process.on('exit', endProcesses)

function watch(child: ChildProcess): ChildProcess {
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  const kill = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await exit
  clearTimeout(kill)
}

/** The kernel's unit of processor time, ms. */
const TICK_MS = 10

export type ServerProcess = {
  port: number
  pid: number
  /** Processor time used by all threads of the process, ms. */
  cpuMs(): Promise<number>
  stop(): Promise<void>
}

/** A server is idle once it uses less than IDLE_CPU_MS of processor time in IDLE_MS. */
const IDLE_MS = 300
const IDLE_CPU_MS = 30
const MAX_WAIT_MS = 120_000

/** Waits until the server's background work, such as embedding new turns, has ended. */
export async function untilIdle({ cpuMs }: ServerProcess): Promise<void> {
  for (const begin = performance.now(); performance.now() - begin < MAX_WAIT_MS;) {
    const before = await cpuMs()
    await sleep(IDLE_MS)
    if ((await cpuMs()) - before < IDLE_CPU_MS) return
  }
  throw new Error(`the server is not idle after ${MAX_WAIT_MS / 1_000} s`)
}

/** Returns the path of a file of the repository, in whose root npm runs scripts. This file may be a compiled copy. */
const fileOf = (path: string) => resolve(path)

/** Returns the node arguments in a checkout's `npm start` script. The last argument is the file to run. */
async function startArguments(root: string): Promise<string[]> {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const [node, ...args] = scripts.start.split(' ')
  if (node !== 'node') throw new Error(`npm start does not run node: ${scripts.start}`)
  return args
}

/**
 * Starts a server from a file of this repository, src/bin.ts as `npm start` does, and others with the same node options.
 * Resolves when it has printed its URL. BENCH_PROFILE names a directory for a CPU profile of each server.
 */
export async function startServer(
  path: string,
  env: Record<string, string>,
  onLine?: (line: string) => void,
): Promise<ServerProcess> {
  const all = await startArguments(fileOf('.'))
  const args = path === 'src/bin.ts' ? all : [...all.slice(0, -1), '--import', 'tsx', fileOf(path)]
  return startProcess(path, fileOf('.'), args, env, onLine)
}

/**
 * Starts the server of this or another checkout of the repository, as its `npm start` does.
 * @param onLine called with each line of the log
 */
export const startCheckout = async (
  root: string,
  env: Record<string, string>,
  onLine?: (line: string) => void,
): Promise<ServerProcess> => startProcess(root, root, await startArguments(root), env, onLine)

async function startProcess(
  name: string,
  cwd: string,
  args: readonly string[],
  env: Record<string, string>,
  onLine?: (line: string) => void,
): Promise<ServerProcess> {
  const directory = process.env.BENCH_PROFILE
  const profile = directory ? ['--cpu-prof', `--cpu-prof-dir=${directory}`] : []
  const child = watch(
    spawn(process.execPath, [...profile, ...args], {
      cwd,
      env: { ...process.env, NODE_ENV: 'production', PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${name} exited with ${code} before it was ready`)))
    createInterface({ input: child.stdout! }).on('line', (line) => {
      onLine?.(line)
      const url = /"url":"([^"]+)"/.exec(line)?.[1]
      if (url && !url.endsWith('/metrics')) resolve(Number(new URL(url).port))
      // Levels of pino: 50 is error, 60 is fatal.
      if (/"level":[56]0/.test(line)) console.error(`${name}: ${line}`)
    })
  })
  return {
    port,
    pid: child.pid!,
    async cpuMs() {
      // proc(5): after the name, which is in parentheses, utime and stime are fields 11 and 12, counted from 0.
      const fields = (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(') ')[1]!.split(' ')
      return (Number(fields[11]) + Number(fields[12])) * TICK_MS
    },
    stop: () => stop(child, 'SIGTERM'),
  }
}

export type Worker<Question, Reply> = {
  /** Resolves with the worker's reply. Await it before the next call. */
  ask(question: Question): Promise<Reply>
  stop(): Promise<void>
}

type Envelope<Reply> = { reply: Reply } | { error: string }

/** Starts a file of this directory as a worker. The file must call `answer`. */
export function startWorker<Question extends object, Reply>(file: string): Worker<Question, Reply> {
  const child = watch(
    fork(fileOf(join('scripts/bench', file)), { execArgv: ['--import', 'tsx'], serialization: 'advanced' }),
  )
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        const ended = (code: number | null) => reject(new Error(`${file} ended with ${code}`))
        child.once('exit', ended)
        child.once('message', (message: Envelope<Reply>) => {
          child.off('exit', ended)
          if ('error' in message) reject(new Error(message.error))
          else resolve(message.reply)
        })
        child.send(question)
      }),
    stop: () => stop(child, 'SIGKILL'),
  }
}

/** Replies to the questions sent by `ask`. Call this function in the worker process. */
export function answer<Question, Reply>(handle: (question: Question) => Promise<Reply>): void {
  process.on('message', (question: Question) => {
    handle(question).then(
      (reply) => process.send!({ reply } satisfies Envelope<Reply>),
      (error: Error) => process.send!({ error: error.stack ?? String(error) } satisfies Envelope<Reply>),
    )
  })
  process.once('disconnect', () => process.exit())
}
