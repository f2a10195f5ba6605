// Lists the question words of each language by the kind of answer that they ask for: a time, an amount or a name.

import type { LatinLanguage } from '../../../../text/words/language.ts'

type Kind = 'time' | 'amount' | 'name'

/** Matches the source at word boundaries of any script. */
const word = (source: string) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${source})(?![\\p{L}\\p{N}])`, 'iu')

/** The question words of the languages in Latin script, each for queries in that language only. */
export const QUESTION_WORDS: Record<LatinLanguage, Record<Kind, RegExp>> = {
  en: {
    time: word('when|how (?:long|recently)|(?:what|which) (?:year|month|date|day|time|season|week)'),
    amount: word('how (?:many|much|often)'),
    name: word('whom?|whose|where|which|names?|named|called|what (?:city|country|state|place)'),
  },
  de: {
    time: word(
      'wann|wie lange|(?:welche[ms]?|welchen|welcher) (?:jahr|monat|tag|datum|woche|uhrzeit)|wie ?viel uhr|wie spät',
    ),
    amount: word('wie ?viele?|wie oft|wie teuer'),
    name: word('wer|wen|wem|wessen|wo|woher|wohin|welche[mnrs]?|namen?|heißt|heißen|hieß|genannt'),
  },
  fr: {
    time: word(`quand|combien de temps|quel(?:le)?s? (?:année|jour|mois|date|heure|semaine)|depuis combien`),
    amount: word(`combien|à quelle fréquence`),
    name: word(`qui|où|quel(?:le)?s?|lequel|laquelle|noms?|s['’]appelle|appelée?|prénom`),
  },
  es: {
    time: word('cu[áa]ndo|cu[áa]nto tiempo|qu[ée] (?:año|d[íi]a|mes|fecha|hora|semana)'),
    amount: word('cu[áa]nt[oa]s?|con qu[ée] frecuencia'),
    name: word('qui[ée]n(?:es)?|d[óo]nde|ad[óo]nde|cu[áa]l(?:es)?|nombres?|llama|llaman|llamado'),
  },
  pt: {
    time: word('quando|quanto tempo|(?:que|qual) (?:ano|dia|mês|data|hora|horas|semana)'),
    amount: word('quant[oa]s?|com que frequência'),
    name: word('quem|onde|aonde|qual|quais|nomes?|chama|chamam|chamado'),
  },
  it: {
    time: word(`quando|quanto tempo|da quanto|(?:che|quale) (?:anno|giorno|mese|data|ora|settimana)`),
    amount: word(`quant[oaie]|ogni quanto`),
    name: word(`chi|dov['’]è|dove|qual[ei]?|nom[ei]|chiama|chiamano|chiamato`),
  },
  nl: {
    time: word('wanneer|hoe lang|hoe laat|welke? (?:jaar|dag|maand|datum|week|uur)'),
    amount: word('hoeveel|hoe vaak'),
    name: word('wie|wiens|waar|waarheen|welke?|naam|namen|heet|heten|genaamd'),
  },
}

const either = (cyrillic: string, others: string) => new RegExp(`${word(cyrillic).source}|${others}`, 'iu')

/** The question words of other scripts, which are recognised in every query. */
export const OTHER_QUESTION_WORDS: Record<Kind, RegExp> = {
  time: either(
    'когда|как долго|сколько времени|во сколько|с каких пор|как давно|как(?:ой|ом|ого|ую) '
      + '(?:год|году|день|дня|месяц|месяце|числа|дату)',
    '什么时候|何时|几[点号月]|哪[年天]|多久|いつ|何[時年日月]|どのくらい|どれくらい|언제|몇 ?[시년월일]|며칠|얼마나 오래'
      + '|เมื่อไหร่|เมื่อไร|กี่โมง|วันไหน|ปีไหน',
  ),
  amount: either(
    'сколько|как часто|насколько',
    '多少|几[个次本只岁]|いくら|いくつ|何[個人回本匹枚歳]|얼마|몇|กี่|เท่าไหร่|เท่าไร',
  ),
  name: either(
    'кто|кого|кому|кем|ком|чей|чья|чьё|чье|чьи|где|куда|откуда|как(?:ой|ая|ое|ие|ого|ую|ом)|имя|зовут|называется',
    '谁|哪[里儿个位]|什么地方|名字|叫什么|誰|だれ|どこ|どちら|名前|누구|누가|어디|어느|이름|ใคร|ที่ไหน|ชื่อ|ไหน',
  ),
}
