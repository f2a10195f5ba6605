// `npm run demo` against a running server: its output is in order, its claims are true, and its private turns are
// visible only to their audience, including over plain HTTP.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { run, startServer, type ScriptResult, type RunningServer } from '../demo/server.ts'
import { LINES, SECRET } from '../demo/story.ts'
import { backends } from '../support/backend.ts'

const DEMO = 'test/demo/main.ts'

type ReadResult = {
  conversation: {
    turnCount: number
    participants: { nodes: { actor: string; unreadCount: number }[] }
    turns: { edges: { node: { id: string; seq: number; actor: string; text: string; audience: string[] | null } }[] }
  }
}

/** The text in one line, because the demo wraps it. */
const flat = (text: string) => text.replace(/\s+/g, ' ')

describe.each(backends)('the demo on $name', (backend) => {
  let server: RunningServer
  let result: ScriptResult

  beforeAll(async () => {
    server = await startServer(backend)
    result = await run(DEMO, server.url, '--fast')
  })
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
  })

  /** Sends a query over plain HTTP; the demo uses WebSockets. */
  async function ask<T>(actor: string, query: string, variables: object): Promise<T> {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-actor': actor },
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = (await response.json()) as { data: T; errors?: unknown }
    expect(errors).toBeUndefined()
    return data
  }

  const conversationOf = (out: string) => /conv_\w{26}/.exec(out)![0]
  const readAs = (actor: string) =>
    ask<ReadResult>(
      actor,
      `query Read($conversationId: ID!) {
      conversation(id: $conversationId) {
        turnCount
        participants { nodes { actor unreadCount } }
        turns(first: 50) { edges { node { id seq actor text audience } } }
      }
    }`,
      { conversationId: conversationOf(result.out) },
    )

  it('exits with code 0, and all its claims are true', () => {
    expect(result).toMatchObject({ code: 0, error: '' })
    expect(result.out.match(/✓/g)).toHaveLength(4)
    expect(result.out).not.toContain('✗')
  })

  it("prints the story in order, in Ada's view", () => {
    const out = flat(result.out)
    const split = LINES.invitation.indexOf('Casa do Rio')
    const marks = [
      LINES.request,
      'scout is typing',
      LINES.found,
      LINES.private,
      LINES.ordered,
      'scribe is typing',
      LINES.invitation.slice(0, split).trim(),
      'connection is lost',
      'reconnected after entry 10',
      LINES.invitation.slice(split),
      LINES.correction,
      LINES.edited,
    ]
    const positions = marks.map((mark) => ({ mark, at: out.indexOf(mark) }))
    expect(positions.filter(({ at }) => at < 0)).toEqual([])
    expect(positions.map(({ at }) => at)).toEqual(positions.map(({ at }) => at).sort((a, b) => a - b))
  })

  it('prints how many characters Ada missed while disconnected', () => {
    expect(Number(/(\d+) characters were missed/.exec(result.out)?.[1])).toBeGreaterThan(0)
  })

  it('creates a conversation whose private turns are visible only to their audience', async () => {
    const [ada, scout, scribe] = (await Promise.all(['ada', 'scout', 'scribe'].map(readAs))) as [
      ReadResult,
      ReadResult,
      ReadResult,
    ]
    const privateTurns = scout.conversation.turns.edges.filter(({ node }) => node.text.includes(SECRET))
    expect(privateTurns.map(({ node }) => node.audience!.toSorted())).toEqual([
      ['ada', 'scout'],
      ['ada', 'scout'],
    ])
    expect(ada.conversation.turns).toEqual(scout.conversation.turns)
    expect(JSON.stringify(scribe)).not.toContain(SECRET)
    expect([ada, scout, scribe].map(({ conversation }) => conversation.turnCount)).toEqual([6, 6, 4])
    for (const { node } of privateTurns) {
      const query = 'query Node($id: ID!) { node(id: $id) { id } }'
      expect(await ask('scribe', query, { id: node.id })).toEqual({ node: null })
      expect(await ask('scout', query, { id: node.id })).toEqual({ node: { id: node.id } })
    }
  })

  it("prints each viewer's view, the edited turn at its position, and the server's unread counts", async () => {
    const rows = result.out.split('\n').slice(result.out.split('\n').findIndex((line) => /^ {2}seq /.test(line)))
    const seqs = rows.filter((row) => /^ {2}\d+ /.test(row)).map((row) => Number.parseInt(row))
    const { conversation } = await readAs('ada')
    expect(seqs).toEqual(conversation.turns.edges.map(({ node }) => node.seq))
    expect(conversation.turns.edges.at(-2)!.node.text).toBe(LINES.edited)
    expect(rows.filter((row) => row.includes('·') && /^ {2}\d+ /.test(row))).toHaveLength(2)

    expect(rows.find((row) => row.includes('unread'))).toMatch(/^ {2}unread +0 +2 +1$/)
    const unreadCounts = await Promise.all(
      ['ada', 'scout', 'scribe'].map(
        async (actor) =>
          (await readAs(actor)).conversation.participants.nodes.find((each) => each.actor === actor)!.unreadCount,
      ),
    )
    expect(unreadCounts).toEqual([0, 2, 1])
  })
})

describe('the demo without a server', () => {
  it('prints the command that starts a server, and the URL that it tried', async () => {
    const { code, out, error } = await run(DEMO, 'http://127.0.0.1:1/graphql')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(error).toContain('No Colloquy server answers at http://127.0.0.1:1/graphql')
    expect(error).toContain('npm start')
  })
})
