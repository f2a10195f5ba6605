// The default embedder: similarity without shared words, and long texts. The contract of all embedders
// is in test/contract/.

import { afterAll, describe, expect, it } from 'vitest'
import { dot } from '../../../../src/runtime/unit-vector.ts'
import { createStaticEmbedder } from '../../../../src/providers/static/embedder.ts'
import { wordVectors } from '../../../../src/text/word-vectors.ts'

const embedder = await createStaticEmbedder()
afterAll(() => embedder.close())

async function similarity(a: string, b: string): Promise<number> {
  const [x, y] = await embedder.embed([a, b])
  return dot(x!, y!)
}

describe('the static embedder', () => {
  it('returns similar vectors for texts of similar meaning that share no word', async () => {
    const ill = 'Our puppy was ill and went to the vet'
    const far = await similarity(ill, 'The invoice was paid in full')
    expect(await similarity(ill, 'The dog needed a doctor')).toBeGreaterThan(far + 0.2)
  })

  it('removes the component that all texts have in common', async () => {
    const { common } = wordVectors()
    const [vector] = await embedder.embed(['We adopted a kitten last week'])
    expect(dot(vector!, common)).toBeCloseTo(0, 5)
  })

  it('returns exactly the vectors of the version in its name', async () => {
    // Change these numbers only together with the name, because stored vectors are compared with new ones.
    const [vector] = await embedder.embed(["Yesterday we didn't adopt the second kitten"])
    expect(embedder.name).toBe('static-2')
    const begin = [...vector!.slice(0, 6)].map((x) => Number(x.toFixed(4)))
    expect(begin).toEqual([0.1511, -0.0355, 0.0877, -0.0761, -0.2516, -0.009])
  })

  it.each(['the of and', 'xqzzyv qqqqx', '😀', '東京'])('returns the zero vector for %j', async (text) => {
    expect((await embedder.embed([text]))[0]).toEqual(new Float32Array(100))
  })

  it('gives rare words more weight than frequent ones, and stop words none', async () => {
    expect(await similarity('kitten', 'the kitten is here')).toBeCloseTo(1, 4)
    expect(await similarity('good violin', 'violin')).toBeGreaterThan(await similarity('good violin', 'good'))
  })

  it('reads only the beginning of a long text', async () => {
    const long = 'The dog needed a doctor. '.repeat(1_200)
    expect(await similarity(long, long + 'Invoices, taxes and bills. '.repeat(2_000))).toBeCloseTo(1, 5)
  })

  it('yields to other work between long texts', async () => {
    let yields = 0
    let isDone = false
    const countYield = () => {
      yields++
      if (!isDone) setImmediate(countYield)
    }
    setImmediate(countYield)
    await embedder.embed(Array.from({ length: 200 }, () => 'We adopted a kitten last week. '.repeat(8_500)))
    isDone = true
    expect(yields).toBeGreaterThan(10)
  })
})
