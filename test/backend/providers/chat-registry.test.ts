// The registry of chat providers, created from settings or passed by the application: models, names and closing.

import { describe, expect, it } from 'vitest'
import { createEchoProvider } from '../../../src/providers/echo/provider.ts'
import { createProviders, MAX_PROVIDERS, type ChatProviderSettings } from '../../../src/providers/chat-registry.ts'
import { createFakeModel } from '../../support/fake-model.ts'

const openai: ChatProviderSettings = { kind: 'openai', baseUrl: 'http://o:1/v1', apiKey: undefined, model: 'a' }
const call = (provider: string, text = 'Hi') => ({
  messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }],
  metadata: { provider, model: 'echo' },
})

describe('createProviders', () => {
  it('lists configured and given providers by name, with their models, which include the default one', async () => {
    const adapter = createEchoProvider()
    const providers = await createProviders(
      { zoo: { ...openai, models: ['b', 'a'] }, any: openai, echo: { kind: 'echo' } },
      { bare: adapter, full: { adapter, defaultModel: 'm', models: ['n', 'n'], supportsTools: false } },
    )
    expect(providers.list().map(({ adapter: _, ...rest }) => rest)).toMatchObject([
      { name: 'any', defaultModel: 'a', models: null, supportsTools: true },
      { name: 'bare', defaultModel: 'default', models: null, supportsTools: true },
      { name: 'echo', defaultModel: 'echo', models: null },
      { name: 'full', defaultModel: 'm', models: ['m', 'n'], supportsTools: false },
      { name: 'zoo', defaultModel: 'a', models: ['a', 'b'] },
    ])
    expect(providers.get('zoo')).toBe(providers.list()[4])
    expect(providers.get('Zoo')).toBeNull()
    expect(providers.get('constructor')).toBeNull()
  })

  it('closes only the providers that it created', async () => {
    const own = createEchoProvider()
    const providers = await createProviders({ echo: { kind: 'echo' } }, { own })
    await providers.close()
    await expect(providers.get('echo')!.adapter.complete(call('echo'))).rejects.toMatchObject({ code: 'CLOSED' })
    expect(await own.complete(call('own'))).toMatchObject({ finishReason: 'stop' })
  })

  it('passes on the settings: the URL and key of openai, and whether echo may end the process', async () => {
    const model = await createFakeModel()
    const providers = await createProviders({
      one: { ...openai, baseUrl: model.url, apiKey: 'sk-1', stallMs: 2_000 },
      echo: { kind: 'echo' },
    })
    try {
      const { message } = await providers.get('one')!.adapter.complete(call('one'))
      expect(message.content).toEqual([{ type: 'text', text: 'Hello there.' }])
      expect(model.requests[0]!.headers.authorization).toBe('Bearer sk-1')
      const dying = providers.get('echo')!.adapter.complete(call('echo', '{"echo": {"die": true}}'))
      await expect(dying).rejects.toMatchObject({ code: 'REFUSED' })
    } finally {
      await providers.close()
      await model.stop()
    }
  })

  it('refuses invalid names, and too many providers', async () => {
    await expect(createProviders({}, { 'No Name': createEchoProvider() })).rejects.toThrow(/"No Name" must match/)
    const many = Object.fromEntries(Array.from({ length: MAX_PROVIDERS + 1 }, (_, at) => [`x${at}`, openai]))
    await expect(createProviders(many)).rejects.toThrow(/51 providers; at most 50/)
  })
})
