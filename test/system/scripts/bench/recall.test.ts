// The recall benchmark: its scores, its progress output, and runs on small files. The scores of real files are not
// tested.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { run } from '../../../../scripts/demo/server.ts'
import {
  contentOf,
  evidenceRecall,
  percentile,
  scoreTable,
  sessionRecall,
  type AnsweredQuestion,
} from '../../../../scripts/bench/locomo.ts'
import { createProgress } from '../../../../scripts/bench/progress.ts'
import { isLong } from '../../../support/long.ts'

const answered = (evidence: string[], recalled: string[], more: Partial<AnsweredQuestion> = {}): AnsweredQuestion => ({
  set: 'locomo',
  file: '26',
  category: 4,
  evidence,
  recalled,
  sessions: new Map([...evidence, ...recalled].map((id) => [id, Number(/D(\d+):/.exec(id)?.[1])])),
  ms: 5,
  ...more,
})
const ids = (count: number) => Array.from({ length: count }, (_, i) => `D1:${i + 1}`)

describe('evidence recall', () => {
  it.each<[title: string, answers: AnsweredQuestion[], at5: number]>([
    ['all evidence is recalled', [answered(['D1:1', 'D1:5'], ids(20))], 100],
    ['half of the evidence is among the first five hits', [answered(['D1:5', 'D1:6'], ids(20))], 50],
    ['there are no hits', [answered(['D1:1'], [])], 0],
    ['there are fewer hits than requested', [answered(['D1:2'], ids(2))], 100],
    [
      'questions have different amounts of evidence (each question has the same weight)',
      [answered(['D1:1'], ids(5)), answered(['D1:6', 'D1:7', 'D1:8'], ids(5))],
      50,
    ],
  ])('is the mean share when %s', (_, answers, at5) => {
    expect(evidenceRecall(answers, 5)).toBeCloseTo(at5)
  })

  it('of sessions is the share of the questions with a hit in a session with evidence', () => {
    const answers = [answered(['D1:9'], ids(3)), answered(['D2:1', 'D3:1'], ids(3)), answered(['D2:1', 'D1:7'], ids(3))]
    expect(sessionRecall(answers, 10)).toBeCloseTo(200 / 3)
    expect(sessionRecall([answered(['D2:1'], [...ids(10), 'D2:2'])], 10)).toBe(0)
  })

  it('is printed for each set and method, by category and by file, with the aims', () => {
    const main = [
      answered(['D1:1'], ids(20), { category: 2, ms: 1 }),
      answered(['D1:15', 'D1:1'], ids(20), { category: 1, file: '41', ms: 9 }),
    ]
    const lines = scoreTable([
      { name: 'with vectors', answered: [...main, answered(['D1:1'], ids(9), { set: 'realtalk', file: '7', ms: 2 })] },
      { name: 'BM25 alone', answered: main.map((each) => ({ ...each, recalled: [], ms: null })) },
    ])
    expect(lines.map((line) => line.trim().split(/\s{2,}/))).toEqual([
      ['@5', '@10', '@20', 'session@10', 'several@10', 'questions', 'p50 ms', 'p95 ms'],
      expect.anything(),
      ['locomo, with vectors', '75.0', '75.0', '100.0', '100.0', '50.0', '2', '1.0', '9.0'],
      ['locomo, BM25 alone', '0.0', '0.0', '0.0', '0.0', '0.0', '2'],
      ['1 multi-hop', '50.0', '50.0', '100.0', '100.0', '50.0', '1', '9.0', '9.0'],
      ['2 temporal', '100.0', '100.0', '100.0', '100.0', '1', '1.0', '1.0'],
      ['26', '100.0', '100.0', '100.0', '100.0', '1', '1.0', '1.0'],
      ['41', '50.0', '50.0', '100.0', '100.0', '50.0', '1', '9.0', '9.0'],
      ['aim', 'below 88', '97', 'below 70'],
      ['realtalk, with vectors', '100.0', '100.0', '100.0', '100.0', '1', '2.0', '2.0'],
      ['realtalk, BM25 alone', '0'],
      ['4 single-hop', '100.0', '100.0', '100.0', '100.0', '1', '2.0', '2.0'],
      ['7', '100.0', '100.0', '100.0', '100.0', '1', '2.0', '2.0'],
      ['aim', '70', '55'],
    ])
  })

  it.each([
    [[3], 0.5, 3],
    [[1, 2], 0.5, 1],
    [[4, 1, 3, 2], 0.5, 2],
    [Array.from({ length: 100 }, (_, i) => i + 1), 0.95, 95],
  ])('is printed with percentiles that are measured values: %j at %d gives %d', (values, p, expected) => {
    expect(percentile(values, p)).toBe(expected)
  })

  it('is measured on turns whose text includes the captions of images', () => {
    const turn = { id: 'D1:1', at: '', speaker: 'Ann', text: 'Look!' }
    expect([turn, { ...turn, caption: 'a cat' }].map(contentOf)).toEqual(['Look!', 'Look!\n[image: a cat]'])
  })
})

describe('progress', () => {
  const outputOf = (isTTY: boolean, steps: [title: string, done: number, total: number][]) => {
    let text = ''
    const progress = createProgress({ isTTY, write: (more) => (text += more) })
    for (const step of steps) progress.show(...step)
    progress.end()
    return text
  }

  it('prints a line for each tenth when the output is not a terminal', () => {
    const steps = Array.from({ length: 40 }, (_, i): [string, number, number] => ['import', (i + 1) * 30, 1_200])
    const lines = outputOf(false, [...steps, ['ask', 0, 2], ['ask', 1, 2], ['nothing', 0, 0]])
      .trimEnd()
      .split('\n')
    expect(lines).toHaveLength(12)
    expect(lines[0]).toBe('import: 10 %  120/1,200')
    expect(lines.slice(9)).toEqual(['import: 100 %  1,200/1,200', 'ask: 50 %  1/2', 'nothing: 100 %  0/0'])
  })

  it('updates one line per stage on a terminal', () => {
    const lines = outputOf(true, [
      ['import', 1, 2],
      ['import', 2, 2],
      ['ask', 1, 4],
    ]).split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[0]!.split('\r\x1b[2K')).toHaveLength(3)
    expect(lines[0]).toMatch(/█{24} 100 % {2}2\/2$/)
    expect(lines[1]).toMatch(/ █{6}░{18} {2}25 % {2}1\/4$/)
  })
})

describe('npm run bench:recall', () => {
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  const file = (name: string, content: object) => {
    const path = join(directory, name)
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  const bench = (...args: string[]) => run('scripts/bench/recall.ts', args)

  it.runIf(isLong)('recalls all evidence when it shares words with the question', async () => {
    const texts = ['The tulips are red.', 'The hedgehog is called Max.', 'We fly to Oslo in June.', 'The roof leaks.']
    const path = file('7.json', {
      name: 'seven',
      speakers: ['Ann', 'Bob'],
      turns: texts.map((text, i) => ({
        id: `D1:${i}`,
        session: 1,
        at: '2024-03-01T09:00:00.000Z',
        speaker: i % 2 ? 'Bob' : 'Ann',
        text,
      })),
      questions: [
        { question: 'Which colour are the tulips?', answer: 'red', category: 4, evidence: ['D1:0'] },
        { question: 'When do we fly to Oslo?', answer: 'June', category: 2, evidence: ['D1:2'] },
      ],
    })
    const { code, out, error } = await bench(path)
    expect(error).toContain('with vectors: 100 %  2/2\n')
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/Evidence recall on \S+ 7\n/) })
    expect(out).toMatch(/^\S+, with vectors +100\.0 +100\.0 +100\.0 +100\.0 +2 /m)
    expect(out).toMatch(/^\S+, without vectors +100\.0 +100\.0 +100\.0 +100\.0 +2 /m)
    expect(out).toMatch(/^\S+, BM25 alone +100\.0 +100\.0 +100\.0 +100\.0 +2/m)
  })

  it.runIf(isLong)(
    'prints its usage if the file is missing or invalid, or if the options exclude each other',
    async () => {
      const [nothing, other, both] = await Promise.all([
        bench(),
        bench(file('other.json', { turns: [] })),
        bench('--postgres', '--url', 'http://127.0.0.1:1', 'x.json'),
      ])
      for (const { code, out, error } of [nothing, other, both]) {
        expect({ code, out }).toEqual({ code: 2, out: '' })
        expect(error).toContain('Usage: npm run bench:recall -- ')
      }
      expect(other.error).toMatch(/other\.json is not a conversation/)
    },
  )

  it.runIf(isLong)('fails if no server answers', async () => {
    const path = file('8.json', {
      speakers: ['Ann'],
      turns: [{ id: '1', at: '2024-03-01T09:00:00Z', speaker: 'Ann', text: 'x' }],
      questions: [{ question: 'x', category: 1, evidence: ['1'] }],
    })
    const { code, out, error } = await bench('--url', 'http://127.0.0.1:1/graphql', path)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(error).toContain('bench:recall failed')
  })
})
