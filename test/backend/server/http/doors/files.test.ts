// The door of attachments: uploads in both forms, downloads with a signed URL and with credentials, and attacks on both.

import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { backends } from '../../../../support/backend.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'
import { png } from '../../../../support/files.ts'
import { useServer } from '../../../../support/server.ts'

const PATH = '/api/v1/files'

describe.each(backends)('files over HTTP on $name', (backend) => {
  const clock = fakeClock()
  const server = useServer(backend, {}, { clock })

  /** A conversation of ada and bob, and requests to the files of the server as one of them. */
  async function newFiles() {
    const tenant = server.tenant()
    const conversation = await tenant.newConversation('ada', 'bob', 'eve')
    const headersOf = (actor: string) => ({ 'x-tenant': tenant.name, 'x-actor': actor })
    const send = (query: string, init: RequestInit = {}, actor = 'ada') =>
      fetch(`${server.url}${PATH}${query}`, { ...init, headers: { ...headersOf(actor), ...init.headers } })
    const upload = async (body: BodyInit, type?: string, query = '') => {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
      const response = await send(`?conversation=${conversation}${query}`, { method: 'POST', body, headers })
      return { status: response.status, body: await response.json() }
    }
    return { tenant, conversation, send, upload, headersOf }
  }
  const signed = (url: string, init: RequestInit = {}) => fetch(`${server.url}${url}`, init)

  it('accepts the bytes as the body', async () => {
    const { upload } = await newFiles()
    const bytes = png(3, 4)
    const { status, body } = await upload(bytes, 'image/png', '&fileName=a%20b.png&clientId=c')
    expect(status).toBe(201)
    expect(body).toMatchObject({
      deduplicated: false,
      attachment: { mediaType: 'image/png', fileName: 'a b.png', width: 3, height: 4, bytes: bytes.length },
    })
    expect(body.attachment.sha256).toBe(createHash('sha256').update(bytes).digest('hex'))
    expect(await upload(bytes, 'image/png', '&clientId=c')).toMatchObject({ status: 200, body: { deduplicated: true } })
  })

  it('accepts the only file of a form', async () => {
    const { upload } = await newFiles()
    const form = new FormData()
    form.append('file', new File([png(3, 4)], 'Zoë "1".png', { type: 'image/png' }))
    const { status, body } = await upload(form)
    expect({ status, name: body.attachment?.fileName }).toEqual({ status: 201, name: 'Zoë "1".png' })
    form.append('file', new File([png(3, 4)], 'two.png'))
    expect(await upload(form)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_INPUT', detail: expect.stringMatching(/has 2 files/) },
    })
  })

  it.each<[string, string, string, RegExp]>([
    ['a form without a boundary', 'x', 'multipart/form-data', /with a boundary/],
    ['another kind of multipart', 'x', 'multipart/mixed; boundary=b', /multipart\/form-data/],
    ['a damaged form', '--b\r\nx', 'multipart/form-data; boundary=b', /is not valid multipart/],
    ['many parts', '--b\r\n\r\n\r\n'.repeat(20), 'multipart/form-data; boundary=b', /more than 8 parts/],
    ['a huge part header', `--b\r\nx: ${'y'.repeat(100_000)}`, 'multipart/form-data; boundary=b', /is not valid/],
    ['a file of another type', '<html></html>', 'image/png', /stated to be image\/png, but is text\/html/],
  ])('refuses %s', async (_, body, type, detail) => {
    const { upload } = await newFiles()
    expect(await upload(body, type)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_INPUT', detail: expect.stringMatching(detail) },
    })
  })

  it('refuses a body above the limit by its length alone, and one without a length', async () => {
    const { upload, headersOf, conversation } = await newFiles()
    const large = await upload(Buffer.alloc(10 * 2 ** 20 + 16 * 1024 + 1), 'image/png')
    expect(large).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE', status: 413 } })
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const lines = {
      ...headersOf('ada'),
      host: 'localhost',
      'content-type': 'image/png',
      'transfer-encoding': 'chunked',
    }
    socket.write(
      `POST ${PATH}?conversation=${conversation} HTTP/1.1\r\n${Object.entries(lines)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n`,
    )
    let answer = ''
    for await (const part of socket) answer += String(part)
    expect(answer).toContain('411 Length Required')
  })

  it('refuses what a page of another site could send, and other methods', async () => {
    const { conversation } = await newFiles()
    const post = (headers: Record<string, string>) =>
      fetch(`${server.url}${PATH}?conversation=${conversation}`, { method: 'POST', body: 'x', headers })
    const forged = await post({ 'content-type': 'text/plain', 'sec-fetch-site': 'cross-site' })
    expect(forged.status).toBe(403)
    expect(await forged.json()).toMatchObject({ code: 'CSRF_HEADER_REQUIRED' })
    const foreign = await post({ 'content-type': 'image/png', origin: 'https://evil.example' })
    expect(foreign.status).toBe(403)
    const deleted = await fetch(`${server.url}${PATH}`, { method: 'DELETE' })
    expect([deleted.status, deleted.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('sends the bytes for a signed URL, without credentials, and no page', async () => {
    const { upload } = await newFiles()
    // A picture whose bytes after the header are a page.
    const bytes = png(3, 4, '<html><script>alert(1)</script>')
    const { body } = await upload(bytes, 'image/png', '&fileName=a%22%0d%0aX-Evil:1%C3%AB.png')
    const response = await signed(body.attachment.url)
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': `inline; filename="a_X-Evil:1_.png"; filename*=UTF-8''a%22X-Evil%3A1%C3%AB.png`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'content-length': String(bytes.length),
      etag: `"${body.attachment.sha256}"`,
    })
    expect(response.headers.get('x-evil')).toBeNull()
    const age = Number(/^private, max-age=(\d+)$/.exec(response.headers.get('cache-control')!)?.[1])
    expect(age).toBeGreaterThan(0)
    expect(age).toBeLessThanOrEqual(900)
    for (const [content, type] of [
      ['plain', 'text/plain'],
      ['%PDF-1.7', 'application/pdf'],
    ] as const) {
      const download = await signed((await upload(content, type)).body.attachment.url)
      expect(download.headers.get('content-disposition')).toBe('attachment')
    }
  })

  it('answers HEAD, ranges and tags', async () => {
    const { upload } = await newFiles()
    const { url, sha256 } = (await upload('0123456789', 'text/plain')).body.attachment
    const head = await signed(url, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', ''])
    const range = async (value: string, more: Record<string, string> = {}) => {
      const response = await signed(url, { headers: { range: value, ...more } })
      return [response.status, response.headers.get('content-range'), await response.text()]
    }
    expect(await range('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234'])
    expect(await range('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789'])
    expect(await range('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789'])
    expect(await range('bytes=10-')).toEqual([416, 'bytes */10', ''])
    for (const whole of ['bytes=4-2', 'bytes=0-1,3-4', 'lines=1-2']) expect((await range(whole))[0]).toBe(200)
    expect((await range('bytes=2-4', { 'if-range': '"other"' }))[0]).toBe(200)
    const cached = await signed(url, { headers: { 'if-none-match': `"${sha256}"` } })
    expect(cached.status).toBe(304)
  })

  it('refuses forged and expired signatures', async () => {
    const { upload } = await newFiles()
    const [one, two] = [await upload(png(1, 1), 'image/png'), await upload(png(2, 2), 'image/png')]
    const url: string = one.body.attachment.url
    const changed = (change: (parameters: URLSearchParams) => void) => {
      const [path, query] = url.split('?') as [string, string]
      const parameters = new URLSearchParams(query)
      change(parameters)
      return `${path}?${parameters}`
    }
    const forged = [
      url.replace(one.body.attachment.id, two.body.attachment.id),
      changed((each) => each.set('expires', String(Number(each.get('expires')) + 60))),
      changed((each) => each.set('tenant', 'other')),
      changed((each) => each.set('signature', 'x'.repeat(43))),
      changed((each) => each.set('signature', '')),
    ]
    for (const each of forged) expect((await signed(each)).status).toBe(403)
    expect((await signed(url)).status).toBe(200)
    await clock.advance(15 * 60_000)
    const expired = await signed(url)
    expect(expired.status).toBe(403)
    expect(await expired.json()).toMatchObject({ code: 'NOT_ALLOWED', detail: expect.stringMatching(/has expired/) })
  })

  it('sends the bytes to viewers of the turn, and nothing to others', async () => {
    const { upload, send, tenant, conversation, headersOf } = await newFiles()
    const { id } = (await upload(png(1, 1), 'image/png')).body.attachment
    const status = async (actor: string, headers: Record<string, string> = {}) =>
      (await send(`/${id}`, { headers }, actor)).status
    expect(await status('bob')).toBe(404)
    const query = `mutation ($input: AppendTurnInput!) { appendTurn(input: $input) { __typename
      ... on AppendTurnPayload { turn { parts { ... on FilePart { url mediaType attachment { id url expiresAt width } } } } } } }`
    const turn = { role: 'USER', audience: ['bob'], parts: [{ file: { attachmentId: id, caption: 'a dot' } }] }
    const input = { conversationId: conversation, turn }
    const { body } = await server.post({ query, variables: { input } }, headersOf('ada'))
    const [part] = body.data.appendTurn.turn.parts
    expect(part).toMatchObject({
      url: `urn:colloquy:attachment:${id}`,
      mediaType: 'image/png',
      attachment: { width: 1 },
    })
    expect((await signed(part.attachment.url)).status).toBe(200)
    expect(Date.parse(part.attachment.expiresAt) - clock.Date.now()).toBeLessThanOrEqual(15 * 60_000)
    expect(await status('ada')).toBe(200)
    expect(await status('bob')).toBe(200)
    expect(await status('eve')).toBe(404)
    expect(await status('bob', { 'x-tenant': server.tenant().name })).toBe(404)
    expect((await send('/../../secret')).status).toBe(404)
    expect((await send(`/${encodeURIComponent('../att_x')}`)).status).toBe(404)
    expect(tenant.name).not.toBe('')
  })
})
