// Lists the words by which cues.ts recognises a time, an amount and the first person, by language.

import type { Language } from '../../../text/words/stop-words.ts'

/** Words that state a time or an amount, and those of the first person. */
type CueWords = { time: string; amount: string; self: string }

/** The words of each language other than names of months, seasons and weekdays, separated by white space. */
export const CUE_WORDS: Record<Language, CueWords> = {
  en: {
    time: `yesterday today tonight tomorrow ago since recently last next week weeks weekend weekends month months
      year years day days morning evening night`,
    amount: 'one two three four five six seven eight nine ten dozen once twice few couple several',
    self: 'i im ive me my mine myself we weve our ours ourselves',
  },
  de: {
    time: `gestern vorgestern heute morgen abend abends nacht vor seit kürzlich neulich letzte letzten letztes
      letzter nächste nächsten nächster nächstes woche wochen wochenende monat monate monaten jahr jahre jahren tag
      tage tagen stunde stunden uhr mittag nachmittag vormittag`,
    amount: `eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dutzend einmal zweimal paar mehrere
      einige`,
    self: `ich mich mir mein meine meinem meinen meiner meines wir uns unser unsere unserem unseren unserer`,
  },
  fr: {
    time: `hier demain ajd aujourdhui soir matin nuit depuis dernier dernière prochain prochaine semaine semaines
      mois an ans année années jour jours journée heure heures week récemment midi`,
    amount: 'deux trois quatre cinq six sept huit neuf dix onze douze douzaine plusieurs quelques fois',
    self: `je moi me mon ma mes mien mienne nous notre nos ai suis jai chuis vais avons sommes`,
  },
  es: {
    time: `ayer anteayer hoy mañana noche tarde hace desde pasado pasada próximo próxima semana semanas mes meses
      año años día días hora horas recientemente`,
    amount: 'dos tres cuatro cinco seis siete ocho nueve diez once doce docena varios varias unos unas vez veces',
    self: `yo mi mis me mío mía míos mías conmigo nos nosotros nosotras nuestro nuestra nuestros nuestras soy estoy
      tengo voy he hemos quiero creo fui hago puedo vamos tenemos somos estamos estuve tuve`,
  },
  pt: {
    time: `ontem anteontem hoje amanhã noite tarde manhã há desde passado passada próximo próxima semana semanas mês
      meses ano anos dia dias hora horas recentemente`,
    amount: 'dois duas três quatro cinco seis sete oito nove dez onze doze dúzia vários várias vez vezes',
    self: `eu me mim meu minha meus minhas comigo nós nosso nossa nossos nossas sou estou tenho vou fui quero acho
      posso temos vamos somos estamos estive tive faço`,
  },
  it: {
    time: `ieri domani oggi stasera stamattina notte sera mattina fa scorso scorsa prossimo prossima settimana
      settimane mese mesi anno anni giorno giorni ora ore recentemente`,
    amount: `due tre quattro cinque sei sette otto nove dieci undici dodici dozzina parecchi alcuni alcune volta
      volte`,
    self: `io mi me mio mia miei mie noi nostro nostra nostri nostre ho abbiamo siamo sto vado voglio faccio posso
      vorrei`,
  },
  nl: {
    time: `gisteren eergisteren vandaag morgen vanavond avond ochtend nacht geleden sinds vorige volgende afgelopen
      week weken weekend maand maanden jaar jaren dag dagen uur uren onlangs`,
    amount: `twee drie vier vijf zes zeven acht negen tien elf twaalf dozijn enkele meerdere paar keer`,
    self: 'ik me mij mijn mezelf wij we ons onze',
  },
  ru: {
    time: `вчера позавчера сегодня завтра вечером утром ночью ночь днем назад недавно прошлый прошлой прошлом
      следующий следующей неделя неделю недели месяц месяца месяцев год года году лет день дня дней час часа часов
      выходные`,
    amount: `один два две три четыре пять шесть семь восемь девять десять дюжина несколько раз дважды`,
    self: `я меня мне мной мой моя мое мои моего моей моему моих моим мою мы нас нам нами наш наша наше наши нашего
      нашей`,
  },
}

/** Patterns for Chinese, Japanese, Korean and Thai. */
export const EAST_ASIAN_CUES: Record<keyof CueWords, RegExp> = {
  time: /昨[天日晚]|今[天日年晚朝]|明[天日年]|前天|去年|[上下这]个?[周月]|星期|周末|[年月日]|時間|小时|先週|来週|週末|어제|오늘|내일|작년|지난|다음|주말|[0-9] ?[년월일시]|เมื่อวาน|วันนี้|พรุ่งนี้|ปีที่แล้ว|เดือน|สัปดาห์/u,
  amount: /[0-9０-９一二两三四五六七八九十百千]|하나|둘|셋|[한두세네] |สอง|สาม|สี่|ห้า|สิบ/u,
  self: /[我咱私僕俺]|わたし|あたし|(?<!\p{L})(?:나[는도를의]?|내가?|저[는도]?|제가?|우리[가는도]?|저희)(?!\p{L})|ฉัน|ผม|พวกเรา/u,
}
