// The names that a text mentions: the form of a name, the parts of a text in which no mention counts, and the time for
// hostile texts.

import { describe, expect, it } from 'vitest'
import { MAX_MENTIONS, mentionsIn } from '../../../src/text/mentions.ts'
import { isLong } from '../../support/long.ts'

describe('the mentions in a text', () => {
  it.each<[text: string, names: string[]]>([
    ['@planner what next?', ['planner']],
    ['What next, @planner?', ['planner']],
    ['(@planner) [@researcher] *@critic* "@editor" >@ada', ['planner', 'researcher', 'critic', 'editor', 'ada']],
    ['@planner, @researcher; @planner again', ['planner', 'researcher']],
    ['@planner. @researcher: go - @critic-', ['planner', 'researcher', 'critic']],
    ["@planner's plan", ['planner']],
    ['@user:alice and @team/bob and @a.b and @gpt-4.1_mini', ['user:alice', 'team/bob', 'a.b', 'gpt-4.1_mini']],
    ['@ada@example.com has the mail', ['ada@example.com']],
    ['@Žofie @李雷 @Ā\u0300', ['Žofie', '李雷', 'Ā\u0300']],
    ['@"Ada Lovelace" and @"Ada, Countess (1815)"', ['Ada Lovelace', 'Ada, Countess (1815)']],
    ['hmm…@ada', ['ada']],
    ['line\n@ada\r\n@bob', ['ada', 'bob']],
  ])('of %j are %j', (text, names) => {
    expect(mentionsIn(text)).toEqual(names)
  })

  it.each([
    ['an address', 'Write to ada@example.com, ada.l+x@example.com or <bob@example.com>.'],
    ['a URL', 'See https://example.com/@ada/1@bob and www.example.com/@ada, (http://x.y/?q=@ada&r=@bob).'],
    ['a path', 'node_modules/@ada/x'],
    ['a code span', 'Run `npm i @ada` and ``a ` @ada`` now.'],
    ['a code span over two lines', 'a `b\n@ada` c'],
    ['a fenced block', 'Before\n```ts\n@ada()\n\n@bob\n```\nafter'],
    ['a fenced block that is closed by a longer fence', '~~~~\n~~~\n@ada\n~~~~~\n'],
    ['a fenced block without an end', 'x\n\n```\n@ada\n'],
    ['an @ without a name', 'a @ b, @, @-x @"" @"a\nb" @" '],
    ['a doubled @', '@@ada'],
    ['a name that is too long', `@${'a'.repeat(201)} @"${'b'.repeat(201)}"`],
    ['no @', 'hello'],
    ['nothing', ''],
  ])('are not found in %s', (_, text) => {
    expect(mentionsIn(text)).toBeNull()
  })

  it.each<[case_: string, text: string, names: string[]]>([
    ['after a URL', 'https://example.com/@x @ada', ['ada']],
    ['after a code span', '`@x` @ada', ['ada']],
    ['after a fenced block', '```\n@x\n```\n@ada', ['ada']],
    ['after a backtick without a partner', 'it`s @ada', ['ada']],
    ['between backticks of different paragraphs', 'a ` b\n\n@ada ` c', ['ada']],
    ['between runs of backticks of different length', '`` @ada `', ['ada']],
    ['with the maximum length', `@${'a'.repeat(200)}`, ['a'.repeat(200)]],
    ['with the maximum length in characters beyond the BMP', `@"${'😀'.repeat(200)}"`, ['😀'.repeat(200)]],
  ])('are found %s', (_, text, names) => {
    expect(mentionsIn(text)).toEqual(names)
  })

  it(`are at most ${MAX_MENTIONS} names`, () => {
    const text = Array.from({ length: MAX_MENTIONS + 5 }, (_, i) => `@a${i}`).join(' ')
    expect(mentionsIn(text)).toEqual(Array.from({ length: MAX_MENTIONS }, (_, i) => `a${i}`))
  })

  it.runIf(isLong)('are found in time linear in the length of the text', () => {
    const n = 300_000
    const texts = ['@', '@"', '@ ', 'a@', '`', '``` ', '`@', '.', '@.', 'a.', '://@', '\n```', 'www.@'].map(
      (unit) => `${unit.repeat(n)}@`,
    )
    // A quadratic search would exceed the time limit of a test.
    for (const text of [...texts, `@${'a'.repeat(n)}`, `${'x'.repeat(n)}@a`])
      expect(() => mentionsIn(text)).not.toThrow()
  })
})
