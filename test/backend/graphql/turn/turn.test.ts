// Operations on turns as clients send them, on real databases: appending, streaming, superseding and reading.

import { describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { useClients, type Answer } from '../client.ts'
import { WRITER } from '../../../support/writer.ts'
import { sql } from '../../../support/sql.ts'

describe.each(backends)('turns on $name', (backend) => {
  const clients = useClients(backend)
  const { failure, append: appendText } = clients
  const [ada, bob] = [clients.as('ada'), clients.as('bob')]
  const makeConversation = () => clients.newConversation(['ada', 'bob'])

  it('are returned without their damaged parts', async () => {
    const conversationId = await makeConversation()
    const { id } = await appendText(conversationId, 'fine')
    const read = async (parts: unknown) => {
      await sql(clients.deps.pool).query('UPDATE turn SET parts = $2 WHERE id = $1', [id, JSON.stringify(parts)])
      const { conversation } = await ada(
        'query ($id: ID!) { conversation(id: $id) { history { ... on Turn { text parts { __typename } } } } }',
        { id: conversationId },
      )
      return conversation.history
    }
    const text = { type: 'text', text: 'fine' }
    expect(await read([text, { type: 'hologram' }])).toEqual([{ text: 'fine', parts: [{ __typename: 'TextPart' }] }])
    expect(await read({ oops: 1 })).toEqual([{ text: 'fine', parts: [{ __typename: 'TextPart' }] }])
  })

  it('return the turn that they reply to, if the viewer sees it and it was not erased', async () => {
    const conversationId = await makeConversation()
    const { id: secret } = await appendText(conversationId, 'psst', { audience: ['ada'] })
    const { id: open } = await appendText(conversationId, 'hello')
    for (const replyToId of [null, secret, open]) await appendText(conversationId, 'yes', { replyToId })
    const read = async (as: typeof ada) => {
      const { conversation } = await as(
        `query ($id: ID!) { conversation(id: $id) {
          history(limit: 3) { ... on Turn { replyTo { id text replyTo { id } } } }
        } }`,
        { id: conversationId },
      )
      return conversation.history.map(({ replyTo }: Answer) => replyTo)
    }
    const hello = { id: open, text: 'hello', replyTo: null }
    expect(await read(ada)).toEqual([null, { id: secret, text: 'psst', replyTo: null }, hello])
    expect(await read(bob)).toEqual([null, null, hello])
    await sql(clients.deps.pool).query(`UPDATE turn SET status = 'ERASED', text = '' WHERE id = $1`, [open])
    expect(await read(bob)).toEqual([null, null, null])
    await sql(clients.deps.pool).query('DELETE FROM turn WHERE id = $1', [open])
    expect(await read(ada)).toEqual([null, { id: secret, text: 'psst', replyTo: null }, null])
  })

  it('return the turn that made the call of a result', async () => {
    const conversationId = await makeConversation()
    const append = async (part: object) =>
      (
        await ada(
          `mutation ($input: AppendTurnInput!) { appendTurn(input: $input) {
            ... on AppendTurnPayload { turn { id parts { ... on ToolResultPart { callId callTurnId } } } }
            ... on InvalidInput { issues { path message } }
          } }`,
          { input: { conversationId, turn: { role: 'ASSISTANT', parts: [part] } } },
        )
      ).appendTurn
    const call = { callId: 'c1', name: 'search' }
    const { turn: first } = await append({ toolCall: { ...call, arguments: {} } })
    const { turn: second } = await append({ toolCall: { ...call, arguments: {} } })
    expect((await append({ toolResult: call })).issues).toEqual([
      { path: ['turn', 'parts'], message: expect.stringContaining(`one of ${second.id}, ${first.id}.`) },
    ])
    const { parts } = (await append({ toolResult: { ...call, callTurnId: first.id } })).turn
    expect(parts).toEqual([{ callId: 'c1', callTurnId: first.id }])
  })

  it('return all kinds of parts as they were sent', async () => {
    const call = { callId: 'c1', name: 'search' }
    const parts = [
      { text: 'Look: ' },
      { reasoning: { reasoning: 'hm', signature: 'sig' } },
      { toolCall: { ...call, arguments: { q: ['x'] } } },
      { toolResult: { ...call, result: 'nothing' } },
      { toolResult: { ...call, result: null } },
      { file: { mediaType: 'image/png', url: 'https://a.example/b.png', fileName: 'b.png', caption: 'A fence' } },
      { data: [1, { two: null }] },
      { data: false },
    ]
    const { appendTurn } = await ada(
      `mutation ($input: AppendTurnInput!) { appendTurn(input: $input) { ... on AppendTurnPayload { turn {
      text
      parts {
        ... on TextPart { text }
        ... on ReasoningPart { reasoning signature }
        ... on ToolCallPart { callId name arguments }
        ... on ToolResultPart { callId name result }
        ... on FilePart { mediaType url fileName caption }
        ... on DataPart { data }
      }
    } } } }`,
      { input: { conversationId: await makeConversation(), turn: { role: 'ASSISTANT', parts } } },
    )
    const flat = parts.map((part) => ('text' in part || 'data' in part ? part : Object.values(part)[0]))
    expect(appendTurn.turn).toEqual({ text: 'Look: ', parts: flat })
  })

  it('reject a part with several kinds of content before any resolver runs', async () => {
    const both = `mutation { appendTurn(input: { conversationId: "c", turn: { role: USER, parts: [
      { text: "a", data: 1 }
    ] } }) { __typename } }`
    await expect(ada(both)).rejects.toThrow('must specify exactly one key')
  })

  it('return their metadata, and null if there is none', async () => {
    const conversationId = await makeConversation()
    const append = async (turn: object) =>
      (
        await ada(
          `mutation ($input: AppendTurnInput!) {
      appendTurn(input: $input) { ... on AppendTurnPayload { turn {
        role status audience tokenCount tokenUsage { prompt completion } model adapter traceId
        citations { documentId documentName chunk score } pinned metadata abortReason createdAt importedAt supersededBy { id }
      } } }
    }`,
          { input: { conversationId, turn: { role: 'USER', content: 'hello', ...turn } } },
        )
      ).appendTurn.turn
    const fields = {
      pinned: true,
      tokenUsage: { prompt: 9, completion: 0 },
      model: 'm',
      adapter: 'a',
      traceId: 't',
      metadata: { a: 1 },
      citations: [{ documentId: 'd', score: 0.5 }],
      createdAt: '2020-01-01T00:00:00+01:00',
      audience: ['bob'],
    }
    expect(await append(fields)).toEqual({
      role: 'USER',
      status: 'COMMITTED',
      ...fields,
      audience: ['ada', 'bob'],
      tokenCount: 1,
      citations: [{ documentId: 'd', documentName: null, chunk: null, score: 0.5 }],
      abortReason: null,
      createdAt: '2019-12-31T23:00:00.000Z',
      importedAt: expect.stringMatching(/^20[2-9]\d-/),
      supersededBy: null,
    })
    expect(await append({})).toMatchObject({
      importedAt: null,
      audience: null,
      tokenUsage: null,
      model: null,
      citations: [],
      metadata: {},
      pinned: false,
    })
  })

  it('return expected failures as members of the result union', async () => {
    const conversationId = await makeConversation()
    const append = async (more: object) =>
      (
        await ada(
          `mutation ($input: AppendTurnInput!) {
      appendTurn(input: $input) { __typename ... on UserError { code } ... on InvalidInput { issues { path } } }
    }`,
          { input: { conversationId, turn: { role: 'USER', content: 'x' }, ...more } },
        )
      ).appendTurn
    const unknown = `conv_${'0'.repeat(26)}`
    expect(await append({ conversationId: unknown })).toEqual({ __typename: 'NotFound', code: 'NOT_FOUND' })
    expect(await append({ expectedLastSeq: 99 })).toEqual({ __typename: 'Conflict', code: 'CONFLICT' })
    expect(await append({ turn: { role: 'USER', content: 'x', model: '' } })).toEqual({
      __typename: 'InvalidInput',
      code: 'INVALID_INPUT',
      issues: [{ path: ['turn', 'model'] }],
    })
    expect(await append({ turn: { role: 'USER', content: 'x', audience: ['nobody'] } })).toMatchObject({
      issues: [{ path: ['turn', 'audience'] }],
    })
  })

  it('are appended as a batch in order, or not at all', async () => {
    const conversationId = await makeConversation()
    const append = async (...texts: string[]) =>
      (
        await ada(
          `mutation ($input: AppendTurnsInput!) {
      appendTurns(input: $input) {
        ... on AppendTurnsPayload { turns { seq text } } ... on InvalidInput { issues { path message } }
      }
    }`,
          { input: { conversationId, turns: texts.map((content) => ({ role: 'USER', content })) } },
        )
      ).appendTurns
    expect(await append('a', 'b')).toEqual({
      turns: [
        { seq: 3, text: 'a' },
        { seq: 4, text: 'b' },
      ],
    })
    expect(await append('c', '')).toEqual({
      issues: [{ path: ['turns', '1', 'content'], message: 'must not be empty' }],
    })
  })

  it('are read page by page, in both directions, with filters and superseded versions', async () => {
    const conversationId = await makeConversation()
    const ids: string[] = []
    for (const text of ['one', 'two', 'three', 'four']) ids.push((await appendText(conversationId, text)).id)
    const { supersedeTurn } = await ada(
      `mutation ($id: ID!) {
      supersedeTurn(input: { turnId: $id, turn: { role: USER, content: "ONE" } }) { ... on SupersedeTurnPayload { turn { id seq } } }
    }`,
      { id: ids[0] },
    )
    const page = async (args: string) => {
      const { conversation } = await bob(
        `query ($id: ID!) { conversation(id: $id) { turns(${args}) {
        edges { cursor node { text supersededBy { id } } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      } } }`,
        { id: conversationId },
      )
      const { edges, pageInfo } = conversation.turns
      expect(edges[0]?.cursor ?? null).toBe(pageInfo.startCursor)
      expect(edges.at(-1)?.cursor ?? null).toBe(pageInfo.endCursor)
      const nodes: Answer[] = edges.map(({ node }: Answer) => node)
      return { nodes, texts: nodes.map(({ text }) => text), ...pageInfo }
    }
    const first = await page('first: 2')
    expect(first).toMatchObject({ texts: ['ONE', 'two'], hasNextPage: true, hasPreviousPage: false })
    expect(await page(`first: 2 after: "${first.endCursor}"`)).toMatchObject({
      texts: ['three', 'four'],
      hasNextPage: false,
      hasPreviousPage: true,
    })
    const last = await page('last: 3')
    expect(last).toMatchObject({ texts: ['two', 'three', 'four'], hasNextPage: false, hasPreviousPage: true })
    expect(await page(`last: 5 before: "${last.startCursor}"`)).toMatchObject({
      texts: ['ONE'],
      hasNextPage: true,
      hasPreviousPage: false,
    })
    expect(await page('includeSuperseded: true first: 2')).toMatchObject({
      texts: ['one', 'ONE'],
      nodes: [{ supersededBy: { id: supersedeTurn.turn.id } }, { supersededBy: null }],
    })
    expect((await page(`filter: { sinceSeq: ${supersedeTurn.turn.seq - 1} }`)).texts).toEqual(['ONE'])
    expect((await page('filter: { actors: ["bob"] }')).texts).toEqual([])
    expect((await page('filter: { roles: [USER], createdBefore: "2000-01-01T00:00:00Z" }')).texts).toEqual([])
  })

  it.each(['first: -1', 'first: 1000', 'first: 1 last: 1', 'after: "x"', 'filter: { sinceSeq: -1 }'])(
    'reject invalid page arguments: %s',
    async (args) => {
      const document = `query ($id: ID!) { conversation(id: $id) { turns(${args}) { edges { cursor } } } }`
      expect(await failure(document, { id: await makeConversation() })).toMatchObject([
        {
          path: ['conversation', 'turns'],
          extensions: { code: 'INVALID_INPUT', issues: [{ message: expect.any(String) }] },
        },
      ])
    },
  )

  it('are returned by history: the newest turns, in ascending order', async () => {
    const conversationId = await makeConversation()
    for (const text of ['one', 'two', 'three']) await appendText(conversationId, text)
    const { conversation } = await bob(
      `query ($id: ID!) { conversation(id: $id) {
      newest: history(limit: 2) { ... on Turn { text } } before: history(beforePosition: 5) { ... on Turn { text } }
    } }`,
      { id: conversationId },
    )
    const [one, two, three] = ['one', 'two', 'three'].map((text) => ({ text }))
    expect(conversation).toEqual({ newest: [two, three], before: [one, two] })
  })

  const EDIT = `mutation ($id: ID!, $content: String!) {
    supersedeTurn(input: { turnId: $id, turn: { role: USER, content: $content } }) {
      ... on SupersedeTurnPayload { turn { id seq } }
    }
  }`
  const edit = async (id: string, content: string) => (await ada(EDIT, { id, content })).supersedeTurn.turn

  it('are paged by history in order of position, each once, even after an edit', async () => {
    const conversationId = await makeConversation()
    const ids: string[] = []
    for (let n = 1; n <= 8; n++) ids.push((await appendText(conversationId, `${n}`)).id)
    await edit(ids[4]!, '5 edited')
    const pages: string[][] = []
    for (let beforePosition: number | null = null; pages.length < 5;) {
      const { conversation }: Answer = await bob(
        `query ($id: ID!, $beforePosition: Int) {
          conversation(id: $id) { history(limit: 4, beforePosition: $beforePosition) { ... on Turn { position text } } }
        }`,
        { id: conversationId, beforePosition },
      )
      const page: { position: number; text: string }[] = conversation.history
      pages.push(page.map(({ text }) => text))
      if (page.length === 0) break
      beforePosition = page[0]!.position
    }
    expect(pages).toEqual([['5 edited', '6', '7', '8'], ['1', '2', '3', '4'], []])
  })

  it('are paged forwards by history after a position, in order, also if older turns were edited since', async () => {
    const conversationId = await makeConversation()
    const turns: { id: string; seq: number }[] = []
    for (let n = 1; n <= 6; n++) turns.push(await appendText(conversationId, `${n}`))
    await edit(turns[0]!.id, '1 edited')
    await edit(turns[3]!.id, '4 edited')
    const read = (args: string) =>
      bob(`query ($id: ID!) { conversation(id: $id) { history(${args}) { ... on Turn { position text } } } }`, {
        id: conversationId,
      })
    const textsAfter = async (position: number) =>
      (await read(`limit: 3, afterPosition: ${position}`)).conversation.history.map(({ text }: Answer) => text)
    expect(await textsAfter(0)).toEqual(['1 edited', '2', '3'])
    expect(await textsAfter(turns[2]!.seq)).toEqual(['4 edited', '5', '6'])
    expect(await textsAfter(turns[5]!.seq)).toEqual([])
    await expect(read('afterPosition: 1, beforePosition: 5')).rejects.toThrow('exclusive with beforePosition')
    await expect(read('afterPosition: 1, includeSummaries: true')).rejects.toThrow('exclusive with includeSummaries')
  })

  it('have a position and a version, and return their previous and next versions', async () => {
    const conversationId = await makeConversation()
    const first = await appendText(conversationId, 'v1')
    const other = await appendText(conversationId, 'other')
    const second = await edit(first.id, 'v2')
    const third = await edit(second.id, 'v3')
    const { conversation } = await bob(
      `query ($id: ID!) { conversation(id: $id) { turns(first: 10, includeSuperseded: true) { edges { node {
        text seq position version isEdited supersedes { id version } supersededBy { id }
      } } } } }`,
      { id: conversationId },
    )
    const place = { position: first.seq }
    expect(conversation.turns.edges.map(({ node }: Answer) => node)).toEqual([
      {
        ...place,
        text: 'v1',
        seq: first.seq,
        version: 1,
        isEdited: false,
        supersedes: null,
        supersededBy: { id: second.id },
      },
      {
        ...place,
        text: 'v2',
        seq: second.seq,
        version: 2,
        isEdited: true,
        supersedes: { id: first.id, version: 1 },
        supersededBy: { id: third.id },
      },
      {
        ...place,
        text: 'v3',
        seq: third.seq,
        version: 3,
        isEdited: true,
        supersedes: { id: second.id, version: 2 },
        supersededBy: null,
      },
      {
        text: 'other',
        seq: other.seq,
        position: other.seq,
        version: 1,
        isEdited: false,
        supersedes: null,
        supersededBy: null,
      },
    ])
  })

  it('return their author, even after the author left', async () => {
    const { createConversation } = await ada(`mutation { createConversation(input: {
      participants: [{ actor: "ada", displayName: "Ada L." }, { actor: "bob" }]
    }) { ... on CreateConversationPayload { conversation { id } } } }`)
    const { id } = createConversation.conversation
    await appendText(id, 'hello')
    await appendText(id, 'hi', { actor: 'scout', role: 'ASSISTANT' })
    await ada(
      'mutation ($id: ID!) { removeParticipant(input: { conversationId: $id, actor: "scout" }) { __typename } }',
      { id },
    )
    const { conversation } = await bob(
      `query ($id: ID!) { conversation(id: $id) { turns(first: 10) { edges { node {
        actor author { actor kind displayName leftAt }
      } } } } }`,
      { id },
    )
    expect(conversation.turns.edges.map(({ node }: Answer) => node)).toEqual([
      { actor: 'ada', author: { actor: 'ada', kind: 'HUMAN', displayName: 'Ada L.', leftAt: null } },
      { actor: 'scout', author: { actor: 'scout', kind: 'AGENT', displayName: null, leftAt: expect.any(String) } },
    ])
  })

  it('are read by one statement per page, and one for each selected field that needs more', async () => {
    const conversationId = await makeConversation()
    const { id } = await appendText(conversationId, 'v1')
    await appendText(conversationId, 'other')
    const read = (fields: string) =>
      clients.statementsOf(() =>
        bob(`query ($id: ID!) { conversation(id: $id) { turns(first: 50) { edges { node { ${fields} } } } } }`, {
          id: conversationId,
        }),
      )
    const page = await read('text seq position isEdited')
    const withMore = (...names: string[]) => [...page, ...names].sort()
    expect(await read('version supersedes { id }')).toEqual(page)
    await edit((await edit(id, 'v2')).id, 'v3')
    expect(await read('text seq position isEdited')).toEqual(page)
    expect(await read('version')).toEqual(withMore('read-version-numbers'))
    expect(await read('supersedes { id }')).toEqual(withMore('read-previous-versions'))
    expect(await read('author { displayName }')).toEqual(withMore('read-participants-by-key'))
  })

  it('are streamed, with errors for deltas at a wrong offset and for a closed turn', async () => {
    const { openTurn } = await bob(
      `mutation ($id: ID!) {
      openTurn(input: { writerToken: "${WRITER}", conversationId: $id, turn: { role: ASSISTANT } }) {
        ... on OpenTurnPayload { turn { id status text parts { __typename } } }
      }
    }`,
      { id: await makeConversation() },
    )
    const { id, ...opened } = openTurn.turn
    expect(opened).toEqual({ status: 'STREAMING', text: '', parts: [] })

    const delta = async (text: string, start?: number) =>
      (
        await bob(
          `mutation ($input: AppendDeltaInput!) {
      appendDelta(input: $input) {
        ... on AppendDeltaPayload { turnId end } ... on UserError { code } ... on StreamClosed { status }
      }
    }`,
          { input: { writerToken: WRITER, turnId: id, text, start } },
        )
      ).appendDelta
    expect(await delta('Hel')).toEqual({ turnId: id, end: 3 })
    expect(await delta('Hello', 0)).toEqual({ turnId: id, end: 5 })
    expect(await delta('!', 9)).toEqual({ code: 'CONFLICT' })
    const { node } = await ada('query ($id: ID!) { node(id: $id) { ... on Turn { text } } }', { id })
    expect(node).toEqual({ text: 'Hello' })

    const { commitTurn } = await bob(
      `mutation ($id: ID!) {
      commitTurn(input: {
        writerToken: "${WRITER}", turnId: $id, model: "m", parts: [{ toolCall: { callId: "s1", name: "n", arguments: {} } }]
      }) { ... on CommitTurnPayload { turn { status text model parts { __typename } } } }
    }`,
      { id },
    )
    const parts = [{ __typename: 'TextPart' }, { __typename: 'ToolCallPart' }]
    expect(commitTurn.turn).toEqual({ status: 'COMMITTED', text: 'Hello', model: 'm', parts })
    expect(await delta('x')).toEqual({ code: 'STREAM_CLOSED', status: 'COMMITTED' })
    const { abortTurn } = await bob(
      `mutation ($id: ID!) {
      abortTurn(input: { writerToken: "${WRITER}", turnId: $id, reason: "late" }) { ... on StreamClosed { status } }
    }`,
      { id },
    )
    expect(abortTurn).toEqual({ status: 'COMMITTED' })
  })
})
