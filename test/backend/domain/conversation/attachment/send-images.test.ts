// Images of attachments in the calls of providers: as base64, or by a signed URL if the provider fetches it.

import { Readable } from 'node:stream'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { urnOf } from '../../../../../src/domain/conversation/attachment/attachment.ts'
import { MAX_IMAGES, sendImages } from '../../../../../src/domain/conversation/attachment/send-images.ts'
import { addParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import { render } from '../../../../../src/domain/memory/context/render.ts'
import { uploadFile } from '../../../../../src/domain/conversation/attachment/upload-file.ts'
import { appendTurn } from '../../../../../src/domain/turn/append/append.ts'
import type { ProviderFilePart, ProviderMessage } from '../../../../../src/providers/ports/provider-adapter.ts'
import { backends } from '../../../../support/backend.ts'
import { png } from '../../../../support/files.ts'
import { createScriptedProvider } from '../../../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

describe.each(backends)('images of runs on $name', (backend) => {
  const textOnly = createScriptedProvider()
  const provider = { ...textOnly, acceptsImages: true }
  const fetching = { ...provider, fetchesUrl: (mediaType: string) => mediaType === 'image/png' }
  const world = useWorld(backend, { providers: { scripted: provider, fetching, text_only: textOnly } })
  beforeEach(() => provider.reset())

  async function newConversation(tenant: Tenant): Promise<string> {
    const conversationId = await tenant.newConversation('ada')
    await addParticipant(world.deps, tenant.as('owner'), {
      conversationId,
      participant: { actor: 'bot', kind: 'AGENT' },
    })
    return conversationId
  }
  async function newTurn(tenant: Tenant, conversationId: string, bytes: Buffer, more: object = {}) {
    const ada = tenant.as('ada')
    const { attachment } = await uploadFile(world.deps, ada, { conversationId, bytes, ...more })
    const parts = [{ file: { attachmentId: attachment.id, caption: 'a rose' } }]
    await appendTurn(world.deps, ada, { conversationId, turn: { role: 'USER', parts } })
    return attachment
  }
  /** Runs the agent, and returns the files of its call. */
  async function filesSent(tenant: Tenant, conversationId: string, name = 'scripted') {
    const input = { conversationId, actor: 'bot', wait: true, provider: name, context: { tokenBudget: 100_000 } }
    await runTurn(world.deps, tenant.as('ada'), { ...input, turns: [{ role: 'USER', content: 'What is it?' }] })
    const { messages } = provider.asked.at(-1)!
    return messages.flatMap(({ content }) => content.filter(({ type }) => type === 'file'))
  }

  it('sends an image as base64, and names other files', async () => {
    const tenant = world.tenant()
    const conversationId = await newConversation(tenant)
    const bytes = png(640, 480)
    await newTurn(tenant, conversationId, bytes, { fileName: 'rose.png' })
    await newTurn(tenant, conversationId, Buffer.from('notes'), { fileName: 'notes.txt' })
    const url = `data:image/png;base64,${bytes.toString('base64')}`
    expect(await filesSent(tenant, conversationId)).toEqual([
      { type: 'file', mediaType: 'image/png', url, fileName: 'rose.png', caption: 'a rose' },
    ])
    expect(JSON.stringify(provider.asked.at(-1))).toContain('notes.txt')
  })

  it('sends a signed URL to a provider that fetches it, if the server has a public address', async () => {
    const tenant = world.tenant()
    const conversationId = await newConversation(tenant)
    await newTurn(tenant, conversationId, png(640, 480))
    expect(await filesSent(tenant, conversationId, 'fetching')).toMatchObject([
      { url: expect.stringMatching(/^data:/) },
    ])
    world.deps.files.isPublic = true
    const sent = await filesSent(tenant, conversationId, 'fetching')
    expect(sent).toMatchObject([{ url: expect.stringMatching(/\/files\/att_\w+\?.*signature=/) }])
    expect(await filesSent(tenant, conversationId)).toMatchObject([{ url: expect.stringMatching(/^data:/) }])
    world.deps.files.isPublic = false
  })

  it('names images as text to models that accept none, and if the file store fails', async () => {
    const tenant = world.tenant()
    const conversationId = await newConversation(tenant)
    const { id } = await newTurn(tenant, conversationId, png(640, 480))
    const named = [{ url: urnOf(id), caption: 'a rose' }]
    expect(await filesSent(tenant, conversationId, 'text_only')).toMatchObject(named)
    const get = vi.spyOn(world.deps.files.store, 'get').mockRejectedValue(new Error('the store is down'))
    expect(await filesSent(tenant, conversationId)).toMatchObject(named)
    get.mockRestore()
  })

  it('sends images of users in the conversation, and older ones instead of one that does not fit', async () => {
    const tenant = world.tenant()
    const [here, there] = [await newConversation(tenant), await newConversation(tenant)]
    const [one, two] = [await newTurn(tenant, here, png(1, 1)), await newTurn(tenant, here, png(2, 2))]
    const foreign = await newTurn(tenant, there, png(3, 3))
    const partOf = (image: { id: string; bytes: number }) => ({
      type: 'file',
      mediaType: 'image/png',
      url: urnOf(image.id),
      image,
    })
    const messages: ProviderMessage[] = [
      { role: 'user', content: [partOf(one), partOf(foreign), partOf({ ...two, bytes: 21 * 2 ** 20 })] },
      { role: 'assistant', content: [partOf(two)] },
    ]
    const call = { tenant: tenant.name, conversationId: here, adapter: provider, signal: new AbortController().signal }
    const sent = await sendImages(world.deps, call, messages)
    const urls = sent.flatMap(({ content }) => content.map((part) => (part as ProviderFilePart).url))
    expect(urls).toEqual([expect.stringMatching(/^data:/), urnOf(foreign.id), urnOf(two.id), urnOf(two.id)])
  })

  it('stops reading images when the call is aborted', async () => {
    const tenant = world.tenant()
    const conversationId = await newConversation(tenant)
    const { id, bytes } = await newTurn(tenant, conversationId, png(1, 1))
    const abort = new AbortController()
    const stream = new Readable({ read: () => abort.abort('CANCELLED') })
    const get = vi.spyOn(world.deps.files.store, 'get').mockResolvedValue(stream)
    const messages: ProviderMessage[] = [
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', url: urnOf(id), image: { id, bytes } }] },
    ]
    const call = { tenant: tenant.name, conversationId, adapter: provider, signal: abort.signal }
    await expect(sendImages(world.deps, call, messages)).rejects.toBe('CANCELLED')
    expect(stream.destroyed).toBe(true)
    get.mockRestore()
  })

  it('sends the newest images only, and counts the tokens of images', async () => {
    const tenant = world.tenant()
    const conversationId = await newConversation(tenant)
    for (let n = 0; n < MAX_IMAGES + 2; n++) await newTurn(tenant, conversationId, png(640, 480, `${n}`))
    const files = await filesSent(tenant, conversationId)
    expect(files.map((file) => (file as ProviderFilePart).url.slice(0, 4))).toEqual([
      'urn:',
      'urn:',
      ...Array(MAX_IMAGES).fill('data'),
    ])
    const build = (tokenBudget: number) => buildContext(world.deps, tenant.as('ada'), { conversationId, tokenBudget })
    const context = await build(100_000)
    // 425 tokens for each image.
    expect(context.tokenCount).toBeGreaterThan(425 * (MAX_IMAGES + 2))
    expect((await build(3_000)).messages.length).toBeLessThan(8)
    // A rendering names the attachments, and has neither their bytes nor signed URLs.
    expect(JSON.stringify(render(context.messages, 'OPENAI'))).toMatch(/urn:colloquy:attachment:att_/)
    expect(JSON.stringify(render(context.messages, 'OPENAI'))).not.toMatch(/base64|signature/)
  })
})
