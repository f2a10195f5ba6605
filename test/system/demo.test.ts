// `npm run demo`, offline: its output is in order, its claims are true, and it shows the approval, the lost connection,
// and the turns that each participant saw.

import { beforeAll, describe, expect, it } from 'vitest'
import { run, type ScriptResult } from '../../scripts/demo/server.ts'
import { EDITED_TIME, LINES, SECRET } from '../../scripts/demo/story.ts'
import { backends } from '../support/backend.ts'
import { isLong } from '../support/long.ts'

/** The text in one line, because the demo wraps it. */
const flat = (text: string) => text.replace(/\s+/g, ' ')

describe.runIf(isLong).each(backends)('the demo on $name', (backend) => {
  let result: ScriptResult
  beforeAll(async () => {
    const opened = backend.name === 'embedded' ? null : await backend.open()
    const env = {
      DATABASE_URL: opened?.url ?? '',
      REDIS_URL: opened?.redisUrl ?? '',
      OPENAI_API_KEY: '',
      CHAT_MODEL: '',
    }
    result = await run('scripts/demo/main.ts', ['--fast'], env)
    await opened?.close()
  })

  it('exits with code 0, and all its claims are true', () => {
    expect(result).toMatchObject({ code: 0, error: '' })
    expect(result.out.match(/✓/g)).toHaveLength(5)
    expect(result.out).not.toContain('✗')
  })

  it("prints the story in order, in Ada's view", () => {
    const out = flat(result.out)
    const marks = [
      LINES.request,
      '@researcher, which places near the river',
      'I look that up. → find_tables {"near":"river","people":6}',
      '← find_tables [{"at":"20:00","place":"Casa do Rio"',
      '@planner, two places have a table for six.',
      'The terrace it is. → book_table',
      'book_table waits for approval: {"time":"20:00","place":"Casa do Rio","people":6}',
      `approved by ada, as {"time":"${EDITED_TIME}","place":"Casa do Rio","people":6}`,
      '← book_table {"result":{"booked":',
      'This is what the restaurant says: book_table:',
      LINES.private,
      'connection is lost',
      'reconnected after entry',
      'I tell you when it is on the table.',
    ]
    const positions = marks.map((mark) => ({ mark, at: out.indexOf(mark) }))
    expect(positions.filter(({ at }) => at < 0)).toEqual([])
    expect(positions.map(({ at }) => at)).toEqual(positions.map(({ at }) => at).sort((a, b) => a - b))
    expect(Number(/(\d+) characters were missed/.exec(result.out)?.[1])).toBeGreaterThan(0)
  })

  it('prints the turns that each participant saw, without the private turns for the researcher', () => {
    const lines = result.out.split('\n')
    expect(lines.find((line) => line.includes(`"${SECRET}" in their data`))).toMatch(/yes +no$/)
    const rows = lines
      .slice(lines.findIndex((line) => /^ {2}seq /.test(line)) + 1)
      .filter((line) => /^ {2}\d+ /.test(line))
    const hidden = rows.filter((row) => row.endsWith('·'))
    // Ada's private turn and the planner's answer are the last two.
    expect(hidden).toEqual(rows.slice(-2))
    const seqs = rows.map((row) => Number.parseInt(row))
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b))
  })
})
