// The command `colloquy chat`: a person in a conversation, at a terminal or on plain streams.

import type { Client, RequestedApproval } from '../../client/index.ts'
import type { Output, Terminal } from '../output.ts'
import type { Target } from '../target.ts'
import { findTurn, read } from './commands.ts'
import { complete, parseDecision, parseInput, type Input } from './input.ts'
import { createPlainScreen, createTerminalScreen, type Screen } from './screen.ts'
import { openSession, problem, questionOf, type Agents, type Session } from './session.ts'
import { titleOf, type ChatState, type Line } from './state.ts'
import { plain } from '../text.ts'

/** The streams of a chat; `terminal` is null if the input or the output is none. */
export type ChatIo = { input: NodeJS.ReadableStream; terminal: Terminal | null; output: Output }

/** A question that the next line answers. */
type Question = {
  prompt: string
  /** The tool call that the question is about; null for another question. */
  approvalId: string | null
  answer(line: string): Promise<void>
}

const note = (text: string): Line => ({ text, tone: 'note' })

/** Number of keys that /load completes. */
const KEYS = 50

/** Returns the answers that are being written, by author, so that they do not change places. */
const answersOf = (state: ChatState) =>
  state.writing
    .map(({ actor, text }) => ({ name: titleOf(state, actor), text: plain(text) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))

class Chat {
  readonly #target: Target
  readonly #agents: Agents
  readonly #io: ChatIo
  readonly #screen: Screen
  #client: Client
  #session: Session | null = null
  #keys: string[] = []
  #question: Question | null = null
  /** The line that was typed when a question came. */
  #draft = ''
  /** The tool calls that wait; those in `#skipped` are not asked about again. */
  #approvals: readonly RequestedApproval[] = []
  readonly #skipped = new Set<string>()
  /** Lines are handled one after another. */
  #work: Promise<void> = Promise.resolve()
  /** Whether Ctrl-C has cancelled, and nothing was typed since. */
  #hasInterrupted = false
  readonly #ended: Promise<void>
  #end = () => {}

  constructor(target: Target, agents: Agents, io: ChatIo) {
    this.#target = target
    this.#client = target.client
    this.#agents = agents
    this.#io = io
    this.#ended = new Promise((resolve) => (this.#end = resolve))
    const listener = {
      line: (text: string) => this.#receive(text),
      interrupt: (typed: string) => this.#interrupt(typed),
      end: () => this.#finish(),
      complete: (line: string) => this.#complete(line),
    }
    this.#screen = io.terminal
      ? createTerminalScreen(io.terminal, listener)
      : createPlainScreen(io.input, io.output.write, listener)
    io.output.signal.addEventListener('abort', () => this.#end(), { once: true })
  }

  /** Runs the chat until it is left. */
  async run(key: string): Promise<void> {
    try {
      const opened = this.#open(key)
      // Lines that were typed meanwhile wait.
      this.#work = opened.catch(() => {})
      await opened
      if (this.#io.terminal)
        this.#screen.print([note('/help lists the commands; Tab completes; Ctrl-C stops an answer')])
      await this.#ended
      await this.#session?.conversation.markRead().catch(() => {})
    } finally {
      await this.#session?.close()
      this.#screen.close()
    }
  }

  async #open(key: string): Promise<void> {
    const before = this.#session
    this.#approvals = []
    this.#session = await openSession(this.#client, key, this.#agents, {
      print: (lines) => this.#screen.print(lines),
      written: (state) => this.#screen.write(answersOf(state)),
      asked: (approvals) => this.#asked(approvals),
    })
    await before?.close()
    this.#prompt('')
    const { nodes } = await this.#client.findConversations({ first: KEYS, orderBy: 'UPDATED_AT' })
    this.#keys = nodes.map(({ id, key: each }) => each ?? id)
  }

  /** Shows the prompt of the question, or that of the conversation, with a typed line. Returns the line before. */
  #prompt(typed: string): string {
    const state = this.#session?.state
    const usual = state ? `${titleOf(state, state.me)}@${this.#session!.key}> ` : '> '
    return this.#screen.ask(this.#question?.prompt ?? usual, typed)
  }

  #asked(approvals: readonly RequestedApproval[]): void {
    this.#approvals = approvals
    const about = this.#question?.approvalId
    // Another participant may have decided.
    if (about != null && !approvals.some(({ id }) => id === about)) this.#answered()
    else this.#askNext()
  }

  #ask(question: Question, typed = ''): void {
    const isFirst = this.#question === null
    this.#question = question
    if (!this.#io.terminal) this.#screen.print([note(question.prompt.trimEnd())])
    const before = this.#prompt(typed)
    if (isFirst) this.#draft = before
  }

  /** Ends the question, and shows the line that was typed before it. */
  #answered(): void {
    this.#question = null
    this.#prompt(this.#draft)
    this.#draft = ''
    this.#askNext()
  }

  /** Asks about the oldest tool call that waits. */
  #askNext(): void {
    const approval = this.#approvals.find(({ id }) => !this.#skipped.has(id))
    if (this.#question || !approval) return
    this.#screen.print([note('a tool call waits for a decision:'), questionOf(approval)])
    const prompt = `${approval.toolName}: y/n/edit> `
    this.#ask({ prompt, approvalId: approval.id, answer: (line) => this.#decide(approval, line) })
  }

  async #decide(approval: RequestedApproval, line: string): Promise<void> {
    const decision = parseDecision(line)
    if (decision.kind === 'mistake') return this.#screen.print([{ text: decision.message, tone: 'problem' }])
    if (decision.kind === 'edit') {
      const answer = (edited: string) => this.#decide(approval, `edit ${edited}`)
      return this.#ask({ prompt: 'arguments> ', approvalId: approval.id, answer }, JSON.stringify(approval.arguments))
    }
    const { id, callHash } = approval
    const given =
      decision.kind === 'approve' ? { arguments: decision.arguments } : { reason: decision.reason ?? undefined }
    this.#skipped.add(id)
    this.#answered()
    try {
      const options = { expectedCallHash: callHash ?? undefined, ...given }
      await this.#client.resolveApproval(id, decision.kind === 'approve' ? 'APPROVE' : 'DENY', options)
    } catch (error) {
      this.#screen.print([problem(error)])
    }
  }

  #receive(text: string): void {
    this.#hasInterrupted = false
    this.#work = this.#work.then(async () => {
      try {
        if (this.#question) await this.#question.answer(text)
        else await this.#handle(parseInput(text), text)
      } catch (error) {
        this.#screen.print([problem(error)])
      }
    })
  }

  async #handle(input: Input, line: string): Promise<void> {
    const session = this.#session!
    if (input.kind === 'mistake') return this.#screen.print([{ text: input.message, tone: 'problem' }])
    if (input.kind === 'turn') {
      return this.#send(session, input.text, input.audience, line)
    }
    if (input.kind === 'command') await this.#command(session, input.name, input.argument)
  }

  /** Sends a turn. A terminal shows the line again if that fails; plain input waits for the answers. */
  async #send(session: Session, text: string, audience: string[] | null, line: string): Promise<void> {
    try {
      await session.send(text, audience)
      if (!this.#io.terminal) await session.settled()
    } catch (error) {
      this.#screen.print([{ ...problem(error), text: `not sent: ${problem(error).text}` }])
      if (this.#io.terminal && !this.#question) this.#prompt(line)
    }
  }

  async #command(session: Session, name: Extract<Input, { kind: 'command' }>['name'], argument: string): Promise<void> {
    switch (name) {
      case 'quit':
        return this.#end()
      case 'clear':
        return this.#screen.clear()
      case 'load':
        return this.#open(argument)
      case 'as': {
        const before = this.#client
        this.#client = this.#target.as(argument)
        return this.#open(session.key).catch((error: unknown) => {
          this.#client = before
          throw error
        })
      }
      case 'forget':
        return this.#forget(session, argument)
      default: {
        const lines = await read(this.#client, session, name, argument)
        this.#screen.print(lines.map((text) => note(plain(text))))
      }
    }
  }

  /** Asks, and does the work only if the answer is yes. */
  #confirm(question: string, work: () => Promise<string>): void {
    const answer = async (line: string) => {
      this.#answered()
      const isMeant = /^y(es)?$/i.test(line.trim())
      this.#screen.print([note(isMeant ? await work() : 'nothing was deleted')])
    }
    this.#ask({ prompt: `${question} y/n> `, approvalId: null, answer })
  }

  async #forget(session: Session, argument: string): Promise<void> {
    if (argument === '') {
      const { key, conversation } = session
      return this.#confirm(`delete ${key} for all participants, permanently?`, async () => {
        await conversation.delete()
        return `deleted ${key}`
      })
    }
    const turn = await findTurn(session, argument)
    this.#confirm(`erase ${argument} permanently?`, async () => {
      await this.#client.eraseTurn(turn.id)
      return `erased ${argument}`
    })
  }

  /** Ctrl-C: leaves a question, stops the answers, clears the line, or ends the chat. */
  #interrupt(typed: string): void {
    if (this.#question) return this.#leaveQuestion()
    if (this.#session?.isAnswering() && !this.#hasInterrupted) {
      this.#hasInterrupted = true
      void this.#session.cancel()
    } else if (typed !== '') this.#prompt('')
    else this.#end()
  }

  #leaveQuestion(): void {
    for (const { id } of this.#approvals) this.#skipped.add(id)
    this.#screen.print([note('nothing was decided')])
    this.#answered()
  }

  /** The input has ended: waits for the lines and for the answers to them. */
  #finish(): void {
    void this.#work.then(() => (this.#io.terminal ? undefined : this.#session?.settled())).then(() => this.#end())
  }

  #complete(line: string): [string[], string] {
    if (this.#question) return [[], line]
    const names = this.#session?.state.names ?? []
    return complete(line, { names, keys: this.#keys })
  }
}

/** Runs a chat in the conversation with the key or id, as the actor of the target. @throws ColloquyError */
export async function chat(target: Target, key: string, agents: Agents, io: ChatIo): Promise<void> {
  await new Chat(target, agents, io).run(key)
}
