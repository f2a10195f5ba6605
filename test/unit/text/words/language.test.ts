// Guessing the language of turns and queries.

import { expect, it } from 'vitest'
import { readText } from '../../../../src/text/words/words.ts'

it.each<[text: string, language: string | null]>([
  ['Did the plant die while I was away?', 'en'],
  ['no come on, are you an idiot?', 'en'],
  ['Oh no, poor you', 'en'],
  ['haha lol', 'en'],
  ['Die Blumen sind schön', 'de'],
  ['Was war am Samstag los?', 'de'],
  ['über Nacht', 'de'],
  ['Das Meeting ist um 10', 'de'],
  ['tu viens pour le dîner ?', 'fr'],
  ['c’est pas grave', 'fr'],
  ['¿Vienes?', null],
  ['mañana', 'es'],
  ['no me gusta el son de la noche', 'es'],
  ['não sei', 'pt'],
  ['Quem vem com a gente?', 'pt'],
  ['non lo so, forse domani', 'it'],
  ['ik was er niet', 'nl'],
  ['waar ben je?', 'nl'],
  ['Gesundheit', 'de'],
  ['stazione', 'it'],
  ['Berlin 42', null],
  ['Привет, как дела', null],
  ['東京', null],
  ['', null],
])('%j is in %s', (text, language) => {
  expect(readText(text).language).toBe(language)
})
