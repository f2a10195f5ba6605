// Parsing of a query: the time periods and names in it, and the kind of answer that it asks for.

import { describe, expect, it } from 'vitest'
import { periods, readQuestion, mayReportOn, type Period } from '../../../../src/domain/recall/question.ts'

const NOW = new Date('2026-11-27T10:30:00Z')
const month = (year: number | null, month: number, more: Partial<Period> = {}): Period => ({
  year,
  month,
  months: 1,
  day: null,
  ...more,
})

describe('the time periods in a query', () => {
  it.each<[text: string, expected: Period[]]>([
    ['on 3 May 2023', [month(2023, 4, { day: 3 })]],
    ['on the 3rd of May, 2023', [month(2023, 4, { day: 3 })]],
    ['on May 3rd, 2023', [month(2023, 4, { day: 3 })]],
    ['on MAY 3', [month(null, 4, { day: 3 })]],
    ['on 2023-05-03', [month(2023, 4, { day: 3 })]],
    ['in 2023-05', [month(2023, 4)]],
    ['in January of 2023', [month(2023, 0)]],
    ['in December', [month(null, 11)]],
    ['between June 2022 and August 2022', [month(2022, 5), month(2022, 7)]],
    ['in summer 2022', [month(2022, 5, { months: 3 })]],
    ['in the fall of 2022', [month(2022, 8, { months: 3 })]],
    ['during 2022', [{ year: 2022, month: null, months: 12, day: null }]],
    ['in 2021 and 2022', [2021, 2022].map((year) => ({ year, month: null, months: 12, day: null }))],
    ['what may I do, and did prices fall this summer', []],
    ['room 2001a, page 12', []],
    ['am 3. Mai 2023', [month(2023, 4, { day: 3 })]],
    ['Was war im März?', [month(null, 2)]],
    ['am 03.05.2023', [month(2023, 4, { day: 3 })]],
    ['le 3 mai', [month(null, 4, { day: 3 })]],
    ['le 1er août 2023', [month(2023, 7, { day: 1 })]],
    ['que faisait-il en mars ?', [month(null, 2)]],
    ['el 3 de mayo de 2023', [month(2023, 4, { day: 3 })]],
    ['em março de 2023', [month(2023, 2)]],
    ['il 3 maggio', [month(null, 4, { day: 3 })]],
    ['op 3 mei', [month(null, 4, { day: 3 })]],
    ['3 мая 2023', [month(2023, 4, { day: 3 })]],
    ['в декабре', [month(null, 11)]],
    ['2023年5月3日', [month(2023, 4, { day: 3 })]],
    ['5月に何をした', [month(null, 4)]],
    ['2023년 5월 3일', [month(2023, 4, { day: 3 })]],
    ['im Sommer 2022', [month(2022, 5, { months: 3 })]],
    ['What did they do in Rio de Janeiro?', []],
    ['a rover on Mars', []],
    ['', []],
  ])('are found in %j', (text, expected) => {
    expect(periods(text)).toEqual(expected)
  })

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
    expect(mayReportOn(periods(text), Date.parse(time))).toBe(expected)
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
