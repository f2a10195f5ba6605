// `colloquy chat` on plain streams: turns, whispers, agents, tool calls that wait for a decision, and its commands. On a
// terminal, test/system/chat-screen.test.ts plays it.

import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { EXIT, type Io } from '../../../../src/command/program.ts'
import { loadConfig } from '../../../../src/config/config.ts'
import type { Tool } from '../../../../src/domain/agent/run/tools/tools.ts'
import { backends, newDataDir } from '../../../support/backend.ts'
import { runCommand } from '../../../support/command.ts'
import { startJobs } from '../../../../src/domain/background/jobs.ts'
import { createScriptedProvider } from '../../../support/scripted-provider.ts'
import { useServer } from '../../../support/server.ts'

/** The amounts that were paid. */
const paid: number[] = []
const PAY: Tool = {
  name: 'pay',
  schema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  requiresApproval: true,
  execute: async (given) => {
    paid.push((given as { amount: number }).amount)
    return 'paid'
  },
}

describe.each(backends)('colloquy chat on $name', (backend) => {
  const provider = createScriptedProvider()
  const server = useServer(backend, {}, { settings: { providers: { scripted: provider }, tools: [PAY] } })

  function start(actor = 'ada', tenant = server.tenant()) {
    provider.reset()
    /** Starts a chat. `type` sends a line, and `end` ends the input. */
    function chat(args: string[] = ['boat'], io: Partial<Io> = {}) {
      const input = new PassThrough()
      let printed = ''
      const target = ['--url', server.url, '--tenant', tenant.name, '--actor', actor]
      const running = runCommand(['chat', ...args, ...target], {
        input,
        write: async (text) => void (printed += text),
        ...io,
      })
      return {
        type: (line: string) => void input.write(`${line}\n`),
        see: (text: string | RegExp) =>
          vi.waitFor(() =>
            typeof text === 'string' ? expect(printed).toContain(text) : expect(printed).toMatch(text),
          ),
        get printed() {
          return printed
        },
        async end() {
          input.end()
          return running
        },
        running,
      }
    }
    /** Runs a chat with these lines. Returns what it prints. */
    const talk = async (lines: readonly string[], args?: string[]) => {
      const talking = chat(args)
      for (const line of lines) talking.type(line)
      expect(await talking.end()).toEqual({ code: EXIT.success, stdout: '', stderr: '' })
      return talking.printed.split('\n')
    }
    return { tenant, chat, talk }
  }
  const AGENTS = ['boat', '--agent', 'fern', '--agent', 'moss', '--provider', 'scripted']

  it('creates the conversation, shows each turn once, and shows the newest ones again the next time', async () => {
    const { talk } = start()
    expect(await talk(['Hello.', '', '//slash'])).toEqual(['ada joined', '#2 ada: Hello.', '#3 ada: /slash', ''])
    expect(await talk([])).toEqual(['#2 ada: Hello.', '#3 ada: /slash', ''])
  })

  it('shows what other participants write while it is open', async () => {
    const { tenant, chat } = start()
    const open = chat()
    open.type('Anyone?')
    await open.see('#2 ada: Anyone?')
    const bob = start('bob', tenant)
    await bob.talk(['Me.'])
    await open.see(/bob joined\n#\d+ bob: Me\.\n/)
    await open.end()
  })

  it('runs the agents that a turn mentions, or all, and waits for their answers', async () => {
    const { talk } = start()
    provider.next(['I am fern.'], ['One.'], ['Two.'])
    const lines = await talk(['Who are you, @fern?', 'All of you?'], AGENTS)
    expect(lines.filter((line) => /^#\d+ (?!ada)/.test(line)).map((line) => line.replace(/^#\d+ /, ''))).toEqual([
      'fern: I am fern.',
      expect.stringMatching(/^(fern|moss): (One|Two)\.$/),
      expect.stringMatching(/^(fern|moss): (One|Two)\.$/),
    ])
  })

  it('whispers: only the participants who are named see the turn and the answer', async () => {
    const { tenant, talk } = start()
    provider.next(['Between us.'])
    const lines = await talk(['/whisper moss Between us?'], AGENTS)
    expect(lines.slice(-3)).toEqual([
      expect.stringMatching(/^#\d+ ada \(to moss\): Between us\?$/),
      expect.stringMatching(/^#\d+ moss \(to ada\): Between us\.$/),
      '',
    ])
    expect((await start('bob', tenant).talk([])).join('\n')).not.toContain('Between us')
  })

  it('says why an agent failed, and why a turn was not sent', async () => {
    const { talk } = start()
    provider.next([new Error('out of order')])
    expect((await talk(['Hello @fern'], AGENTS)).join('\n')).toMatch(/ {2}aborted: .+\n/)
    expect(await talk(['/w nobody psst'])).toContainEqual(expect.stringMatching(/^not sent: [A-Z_]+: /))
    const other = await talk(['Hi'], ['boat', '--agent', 'fern', '--provider', 'none'])
    expect(other).toContainEqual(expect.stringMatching(/^fern: NOT_FOUND: There is no provider/))
  })

  it('asks about a tool call: y, n with a reason, or edit; and shows the result', async () => {
    const { chat } = start()
    onTestFinished(await startJobs(server.deps))
    const call = (amount: number) => ({ id: `c${amount}`, name: 'pay', arguments: { amount } })
    const open = chat(['boat', '--agent', 'fern', '--provider', 'scripted'])
    provider.next([call(5)], ['Done.'], [call(9)], ['Not done.'])
    open.type('Pay 5.')
    await open.see('a tool call waits for a decision:\npay {"amount":5}\npay: y/n/edit>\n')
    open.type('maybe')
    await open.see('answer y, n (with a reason), or edit')
    open.type('edit {"amount":3}')
    await open.see('pay: approved by ada')
    await open.see('fern: Done.')
    open.type('Pay 9.')
    await open.see('pay {"amount":9}\npay: y/n/edit>\n')
    open.type('n too much')
    await open.see('pay: denied by ada')
    await open.see('fern: Not done.')
    await open.end()
    expect(paid).toEqual([3])
    paid.length = 0
    const denied = provider.asked.at(-1)!.messages.at(-1)
    expect(JSON.stringify(denied)).toContain('too much')
  })

  it('reads: history, participants, context, recall, facts and conversations', async () => {
    const { talk } = start()
    await talk(['The mast is made of oak.'])
    const lines = await talk([
      '/history 1',
      '/who',
      '/context 500',
      '/recall which mast',
      '/facts',
      '/sessions',
      '/help',
    ])
    const text = lines.join('\n')
    for (const part of [
      '    The mast is made of oak.',
      'ada    human',
      'of 500 tokens.',
      /\d\.\d\d {2}turn 2 {2}ada: The mast/,
      'There are no facts.',
      /boat {2}/,
      '/whisper NAME[,NAME] TEXT',
    ]) {
      expect(text).toEqual(typeof part === 'string' ? expect.stringContaining(part) : expect.stringMatching(part))
    }
  })

  it.each<[string, RegExp]>([
    ['/hlep', /^There is no command \/hlep; did you mean \/help\?$/],
    ['/history x', /^It must be a whole number from 1 to 200\.$/],
    ['/context 0', /^It must be a whole number from 1 to 2000000\.$/],
    ['/forget x', /^Usage: \/forget #SEQ/],
    ['/forget #99', /^None of the newest 200 turns is #99\.$/],
    ['/context 1', /^BUDGET_TOO_SMALL: /],
  ])('%s fails with one line, and the chat goes on', async (line, message) => {
    const { talk } = start()
    const lines = await talk(['First.', line, 'Last.'])
    expect(lines).toContainEqual(expect.stringMatching(message))
    expect(lines.at(-2)).toMatch(/Last\.$/)
  })

  it('loads another conversation, and continues as another actor', async () => {
    const { tenant, talk } = start()
    await talk(['/load garden', 'Roses.', '/as bob', 'Weeds.'])
    const after = await start('carol', tenant).talk([], ['garden'])
    expect(after.slice(0, 2)).toEqual([expect.stringMatching(/ada: Roses\.$/), expect.stringMatching(/bob: Weeds\.$/)])
  })

  it('forgets: erases a turn, and deletes the conversation after a question', async () => {
    const { talk } = start()
    const erased = await talk(['Secret.', '/forget #2', 'n', '/forget #2', 'y'])
    expect(erased).toEqual(expect.arrayContaining(['erase #2 permanently? y/n>', 'nothing was deleted', 'erased #2']))
    expect(await talk([])).toEqual(['#2 ada: [no content]', ''])
    const question = 'delete boat for all participants, permanently? y/n>'
    const lines = await talk(['/forget', 'n', '/forget', 'y'])
    expect(lines.filter((line) => /delete/.test(line))).toEqual(
      expect.arrayContaining([question, 'nothing was deleted', question, 'deleted boat']),
    )
    expect(await talk([])).toEqual([''])
  })

  it('ends when it is stopped', async () => {
    const { chat } = start()
    const stopping = new AbortController()
    const open = chat(['boat'], { signal: stopping.signal })
    open.type('Hello.')
    await open.see('Hello.')
    stopping.abort()
    expect((await open.running).code).toBe(EXIT.interrupted)
  })
})

describe('colloquy chat', () => {
  it('answers with the echo provider on the database itself', async () => {
    const config = loadConfig({ DATA_DIR: await newDataDir() })
    const input = new PassThrough()
    input.end('The mast is made of oak.\nWhat is the mast made of?\n/quit\n')
    const { code, stdout } = await runCommand(['chat'], { input, loadConfig: () => config })
    expect(code).toBe(EXIT.success)
    expect(stdout).toMatch(/#\d+ user: What is the mast made of\?\n#\d+ assistant: .*made of oak/)
  })
})
