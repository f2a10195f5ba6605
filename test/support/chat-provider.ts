// Helpers for the tests of providers that call a chat model: a fake server and a provider for each test, and the tests
// of failed requests, which are the same for all providers.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { answersWithStatus, createFakeChat, type ChatRequest, type ChatResponder, type FakeChat } from './fake-chat.ts'

/** The only key that the fake server accepts. */
export const KEY = 'sk-secret-hunter2'

type Provider = { close(): Promise<void> }
type Settings = { baseUrl: string; apiKey: string; model: string; promptsDir?: string }
type Limits = { timeoutMs: number; retries: number; pauseMs: number }
type Options = { apiKey?: string; promptsDir?: string; timeoutMs?: number }

export type ChatWorld<P extends Provider> = {
  /** The fake server of the current test. */
  readonly chat: FakeChat
  /** The provider of the current test. It retries twice. */
  readonly provider: P
  /** Creates another provider that calls the same server. It is closed after the test. */
  create(options?: Options): P
}

/** Starts a fake server and a provider before each test, and closes them after it. */
export function useChatProvider<P extends Provider>(
  make: (settings: Settings, limits: Limits) => P,
  answer?: (request: ChatRequest) => ChatResponder,
): ChatWorld<P> {
  let chat: FakeChat
  let provider: P
  const created: P[] = []
  const create = ({ apiKey = KEY, promptsDir, timeoutMs = 60_000 }: Options = {}) => {
    const made = make(
      { baseUrl: chat.url, apiKey, model: 'some-model', promptsDir },
      { timeoutMs, retries: 2, pauseMs: 5 },
    )
    created.push(made)
    return made
  }
  beforeEach(async () => {
    chat = await createFakeChat(KEY, answer)
    provider = create()
  })
  afterEach(async () => {
    await Promise.all(created.splice(0).map((each) => each.close()))
    await chat.stop()
  })
  return {
    get chat() {
      return chat
    },
    get provider() {
      return provider
    },
    create,
  }
}

/** Returns the error of a failed request. */
export async function failureOf(request: Promise<unknown>): Promise<CallFailed> {
  const failure: unknown = await request.then(
    () => null,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(CallFailed)
  return failure as CallFailed
}

/** Answers without a message. */
export const answersNoMessage: ChatResponder = (response) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}')

/** Never answers. */
const answersNothing: ChatResponder = () => {}

/**
 * Declares the tests of failed requests, for a `describe` block about the model's reply.
 * @param call makes a request that the fake server answers with success by default
 * @param modelVariable the environment variable that names the model
 */
export function describeFailedRequests<P extends Provider>(
  world: ChatWorld<P>,
  call: (provider: P) => Promise<unknown>,
  modelVariable: string,
): void {
  it.each([429, 500, 503])('is requested again after status %d, up to a limit', async (code) => {
    const expected = await call(world.provider)
    world.chat.next(answersWithStatus(code))
    expect(await call(world.provider)).toEqual(expected)
    world.chat.next(answersWithStatus(code), answersWithStatus(code), answersWithStatus(code))
    expect(await failureOf(call(world.provider))).toMatchObject({ retryable: true })
    expect(world.chat.requests).toHaveLength(6)
  })

  it('is requested again if the server does not answer, up to a limit', async () => {
    const hasty = world.create({ timeoutMs: 300 })
    const expected = await call(world.provider)
    world.chat.next(answersNothing)
    expect(await call(hasty)).toEqual(expected)
    world.chat.next(answersNothing, answersNothing, answersNothing)
    expect(await failureOf(call(hasty))).toMatchObject({
      retryable: true,
      message: expect.stringContaining('no answer within 0.3 s'),
    })
  })

  it('is no longer awaited once the provider is closed', async () => {
    const requested = new Promise<void>((resolve) => world.chat.next(() => resolve()))
    const waiting = failureOf(call(world.provider))
    await requested
    await world.provider.close()
    expect(await waiting).toMatchObject({ retryable: false, message: expect.stringContaining('is closed') })
  })

  describe('to a rejected request', () => {
    it('is an error that names the setting to check and contains no key', async () => {
      const rejected = await failureOf(call(world.create({ apiKey: 'sk-other' })))
      expect(rejected).toMatchObject({ retryable: false, message: expect.stringContaining('Check OPENAI_API_KEY.') })
      // The fake server quotes both keys.
      expect(rejected.message).not.toMatch(/sk-/)
      world.chat.next(answersWithStatus(404))
      const missing = await failureOf(call(world.provider))
      expect(missing).toMatchObject({ retryable: false, message: expect.stringContaining(`Check ${modelVariable}.`) })
    })
  })
}
