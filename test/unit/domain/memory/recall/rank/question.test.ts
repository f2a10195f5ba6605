// Parsing of a query: the time periods and names in it, and the kind of answer that it asks for.

import { describe, expect, it } from 'vitest'
import { readQuestion, mayReportOn } from '../../../../../../src/domain/memory/recall/rank/question.ts'

const NOW = new Date('2026-11-27T10:30:00Z')
describe('the time periods in a query', () => {
  it.each<[text: string, time: string, expected: boolean]>([
    ['on 3 May 2023', '2023-05-03T00:00:00Z', true],
    ['on 3 May 2023', '2023-05-10T23:59:00Z', true],
    ['on 3 May 2023', '2023-05-11T00:00:00Z', false],
    ['on 3 May 2023', '2023-05-02T23:59:00Z', false],
    ['in December', '2022-12-31T12:00:00Z', true],
    ['in December', '2023-01-05T12:00:00Z', true],
    ['in December', '2023-01-09T12:00:00Z', false],
    ['in winter 2022', '2022-12-01T00:00:00Z', true],
    ['in winter 2022', '2023-02-20T00:00:00Z', true],
    ['in winter 2022', '2022-02-20T00:00:00Z', false],
    ['in 2022', '2022-07-01T00:00:00Z', true],
    ['in 2022', '2023-01-07T00:00:00Z', true],
    ['in 2022', '2023-07-01T00:00:00Z', false],
    ['in March or in May', '2023-05-20T00:00:00Z', true],
    ['it may have been in March', '2023-05-20T00:00:00Z', false],
    ['in March or in June', '2023-06-20T00:00:00Z', true],
    ['', '2023-07-01T00:00:00Z', false],
  ])('%j matches a turn of %s: %s', (text, time, expected) => {
    expect(mayReportOn(readQuestion(text, [], NOW).periods, Date.parse(time))).toBe(expected)
  })

  it.each<[query: string, time: string, expected: boolean]>([
    ['What did I say yesterday?', '2026-11-26T08:00:00Z', true],
    ['What did I say yesterday?', '2026-11-25T23:59:00Z', false],
    // A turn may report on the day before.
    ['What did I say yesterday?', '2026-11-27T09:00:00Z', true],
    ['Was habe ich vor zwei Monaten gesagt?', '2026-09-20T08:00:00Z', true],
    ['Was habe ich vor zwei Monaten gesagt?', '2026-11-20T08:00:00Z', false],
  ])('relative to the time of %j match a turn of %s: %s', (query, time, expected) => {
    expect(mayReportOn(readQuestion(query, [], NOW).periods, Date.parse(time))).toBe(expected)
  })
})

describe('the names in a query', () => {
  const names = ['ann', 'bob', 'mary jane', 'zoë']
  it.each([
    ['What does Mel like?', ['melanie']],
    ['Mel likes what?', ['melanie']],
    ["Where is Bob's dog?", ['robert']],
    ['Can Robert come?', ['robert']],
    ['Will it rain? Can you tell?', []],
    ['what does mel like?', []],
  ])('are also those for which %j uses a short form', (query, expected) => {
    const known = ['melanie', 'melanie ortiz', 'robert', 'william', 'candice']
    expect([...readQuestion(query, known, NOW).names]).toEqual(expected)
  })

  it.each<[query: string, expected: string[]]>([
    ["What is Ann's plan for Mary Jane?", ['ann', 'mary jane']],
    ['ANN, bob!', ['ann', 'bob']],
    ['Was it Zoë?', ['zoë']],
    ['Annual bobbing', []],
    ['Mary or Jane', []],
    ['Was it Zoe?', ['zoë']],
    ['', []],
  ])('are found in %j', (query, expected) => {
    expect([...readQuestion(query, names, NOW).names]).toEqual(expected)
  })
})

it.each([
  ['健太のアレルギーは何？', '健太'],
  ['민수는 무슨 알레르기야?', '민수'],
  ['Что купил Олег?', 'олег'],
  ['Где собака Веры?', 'вера'],
])('the names in %j include %s', (query, name) => {
  expect([...readQuestion(query, [name, '花子', '지영', 'иван'], NOW).names]).toEqual([name])
})

describe('the kind of answer that a query asks for', () => {
  const [none, time, amount, name] = [{}, { asksTime: true }, { asksAmount: true }, { asksName: true }]
  it.each<[query: string, asks: object]>([
    ['When did it end?', time],
    ['How long did it take?', time],
    ['What year was it?', time],
    ['How many cats?', amount],
    ['How often is it fed?', amount],
    ['Who came?', name],
    ['What is the dog called?', name],
    ['Where and when was that?', { ...time, ...name }],
    ['the blue car, whenever', none],
    ['Wann kommt der Zug an?', time],
    ['Wie viele Katzen hat sie?', amount],
    ['Wo wohnt ihr?', name],
    ['Quand est-ce que tu pars ?', time],
    ['Combien de chats avez-vous ?', amount],
    ['¿Cuándo llega tu madre?', time],
    ['¿Dónde está el perro?', name],
    ['Quando chega o comboio para o Porto?', time],
    ['Quanti gatti hai?', amount],
    ['Wanneer kom je naar huis?', time],
    ['Wie heeft dat gedaan?', name],
    ['Когда ты приедешь?', time],
    ['Сколько у неё кошек?', amount],
    ['什么时候去？', time],
    ['猫はどこですか', name],
    ['언제 가요?', time],
    ['ไปเมื่อไหร่', time],
    ['', none],
  ])('is found in %j', (query, asks) => {
    const { asksTime, asksAmount, asksName } = readQuestion(query, [], NOW)
    expect({ asksTime, asksAmount, asksName }).toEqual({ asksTime: false, asksAmount: false, asksName: false, ...asks })
  })
})
