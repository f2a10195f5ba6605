// Names of months, seasons and weekdays in eight languages, for recognising times in queries and turns. Pure.

import { LANGUAGES, type Language } from '../words/stop-words.ts'

/** The names of the months by language, January first; alternatives are separated by `|`. In lower case. */
const MONTH_NAMES: Record<Language, string> = {
  en: 'january february march april may june july august september october november december',
  de: 'januar|jänner februar|feber märz|maerz april mai juni juli august september oktober november dezember',
  fr: 'janvier février|fevrier mars avril mai juin juillet août|aout septembre octobre novembre décembre|decembre',
  es: 'enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre',
  pt: 'janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro',
  it: 'gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre',
  nl: 'januari februari maart april mei juni juli augustus september oktober november december',
  ru:
    'январь|января|январе февраль|февраля|феврале март|марта|марте апрель|апреля|апреле май|мая|мае июнь|июня|июне '
    + 'июль|июля|июле август|августа|августе сентябрь|сентября|сентябре октябрь|октября|октябре ноябрь|ноября|ноябре '
    + 'декабрь|декабря|декабре',
}

/** The weekdays by language, Monday first; alternatives are separated by `|`. In lower case. */
const WEEKDAY_NAMES: Record<Language, string> = {
  en: 'monday tuesday wednesday thursday friday saturday sunday',
  de:
    'montag|montags dienstag|dienstags mittwoch|mittwochs donnerstag|donnerstags freitag|freitags '
    + 'samstag|samstags|sonnabend|sonnabends sonntag|sonntags',
  fr: 'lundi mardi mercredi jeudi vendredi samedi dimanche',
  es: 'lunes martes miércoles jueves viernes sábado domingo',
  pt: 'segunda terça quarta quinta sexta sábado domingo',
  it: 'lunedì martedì mercoledì giovedì venerdì sabato domenica',
  nl: 'maandag dinsdag woensdag donderdag vrijdag zaterdag zondag',
  ru:
    'понедельник|понедельника вторник|вторника|вторникам среда|среду|среды четверг|четверга пятница|пятницу|пятницы '
    + 'суббота|субботу|субботы воскресенье|воскресенья',
}

/** The seasons of each language: spring, summer, autumn, winter; alternatives are separated by `|`. */
const SEASON_NAMES: Record<Language, string> = {
  en: 'spring summer autumn|fall winter',
  de: 'frühling|frühjahr sommer herbst winter',
  fr: 'printemps été automne hiver',
  es: 'primavera verano otoño invierno',
  pt: 'primavera verão outono inverno',
  it: 'primavera estate autunno inverno',
  nl: 'lente|voorjaar zomer herfst|najaar winter',
  ru: 'весна|весной|весны|весну лето|летом|лета осень|осенью|осени зима|зимой|зимы|зиму',
}
/** The first month of the seasons, 0 for January. A season has three months, as in the northern hemisphere. */
const SEASON_STARTS = [2, 5, 8, 11]

const entriesOf = (names: string, numberOf: (at: number) => number): [name: string, number: number][] =>
  names.split(' ').flatMap((each, at) => each.split('|').map((name): [string, number] => [name, numberOf(at)]))

/** The month of each name in any language, 0 for January, and the languages that use the name. */
export const MONTHS: ReadonlyMap<string, { month: number; languages: readonly Language[] }> = new Map(
  LANGUAGES.flatMap((language) => entriesOf(MONTH_NAMES[language], (at) => at)).map(([name, month]) => [
    name,
    {
      month,
      languages: LANGUAGES.filter((language) =>
        entriesOf(MONTH_NAMES[language], Number).some(([each]) => each === name),
      ),
    },
  ]),
)
/** The weekdays of each language as patterns, Monday first. */
export const WEEKDAYS = Object.fromEntries(
  LANGUAGES.map((language) => [language, WEEKDAY_NAMES[language].split(' ')]),
) as Record<Language, string[]>
/** The first month of each season's name in any language. */
export const SEASONS: ReadonlyMap<string, number> = new Map(
  Object.values(SEASON_NAMES).flatMap((names) => entriesOf(names, (at) => SEASON_STARTS[at]!)),
)

/** Returns the names of months, seasons and weekdays of a language, in lower case. */
export const calendarWords = (language: Language): string[] => [
  ...entriesOf(MONTH_NAMES[language], (at) => at).map(([name]) => name),
  ...entriesOf(SEASON_NAMES[language], (at) => at).map(([name]) => name),
  ...entriesOf(WEEKDAY_NAMES[language], (at) => at).map(([name]) => name),
]
