// The rules for past events. An event with a date must be worth remembering. An event without a date must have a
// lasting effect: joining a choir has one, watching a film does not. The object is never "it" or "there".

import type { Scene } from './frames/frame.ts'
import { standalone, thing } from './sentences/objects.ts'
import { PAST_PROGRESSIVE, PAST_TENSE, PERFECT } from './sentences/predication.ts'
import type { Statement } from './rule.ts'
import { readTime, RELATIVE, type Timed } from './times.ts'

/** Verbs of past events that are worth remembering. */
const PAST_VERBS = new RegExp(
  '^(went (?:to|on|for)|visited|bought|got|adopted|attended|started|finished|completed|ran into|ran|joined|'
    + 'signed up for|read|made|met(?: with)?|celebrated|won|quit|graduated from|applied (?:to|for)|passed|'
    + 'failed|sold|lost|broke|saw|watched|hosted|organi[sz]ed|launched|released|published|planted|baked|cooked|'
    + 'painted|built|wrote|tried|booked|ordered|hiked|climbed|took|had|gave|traveled to|travelled to|flew to|'
    + 'drove to|moved to|came back from|returned from|opened|proposed to|participated in|took part in|'
    + 'competed in|volunteered at|performed (?:at|in)|donated|drew|led|taught|designed|received|retired from|'
    + 'enrolled in|registered for|spent|stayed (?:at|in|with)|interviewed (?:at|with|for)) (.+)$',
  'i',
)
/** An activity after "went": "went camping last week". */
const WENT = new RegExp(
  String.raw`^(went (?!missing|looking|crying|running|shopping|walking|jogging|grocery|getting|going|`
    + String.raw`trying|being)\w+ing)\b ?(.*)$`,
  'i',
)
/** Objects of "had", "took" and "gave" that are worth remembering. */
const HAD = new RegExp(
  String.raw`^an? (?:\w+ ){0,2}(?:surgery|operation|accident|baby|meeting|interview|exam|test|party|picnic|wedding|`
    + String.raw`appointment|checkup|check-up|concert|show|class|workshop|trip|race|competition|gig|road ?trip|`
    + String.raw`vacation|break|course|injury)\b`,
  'i',
)
/** Objects of "went on" that are worth remembering without a date. */
const OUTING = new RegExp(
  String.raw`^(?:an?|another|some|two|three) (?:[\p{L}-]+ ){0,3}?(?:trip|cruise|tour|vacation|holiday|journey|`
    + String.raw`retreat|adventure|excursion|safari|expedition)s?\b`,
  'iu',
)
/** Objects of "took" with a destination: "took my kids to the sea". */
const TAKING = new RegExp(
  String.raw`^(?:my|the|our) (?!(?:time|mind|bus|train|car|metro|subway|taxi|trash|bins?)\b)[^,]+? `
    + String.raw`(?:to|out|on|\w+ing)\b`,
  'i',
)
/** Objects of "ran into" that are people. */
const PERSON = /^an? (?!(?:\w+ )?(?:problem|issue|trouble|snag|wall|tree|bug|error|roadblock|bit|lot|few)\b)/i
/** Objects of "spent" that are worth remembering. */
const SPENT = /^(?:time|(?:the|a) (?:whole )?(?:day|weekend|week|afternoon|evening|month|summer)) (?:with|at|in|on) /i
/** "had" with a place or an occasion: "had a great time at the fair". */
const FUN = new RegExp(
  '^had (?:(?:a|an|such a|so much|lots of|a lot of) )?(?:(?:really )?(?:great|good|amazing|wonderful|lovely|'
    + 'fantastic|awesome) )?(?:time|fun|blast) (at|in|on) ((?!work|home|school|the (?:gym|office)).+)$',
  'i',
)
/** Events in the speaker's life. They need no object. */
const CHANGES = new RegExp(
  '^(got (?:married|engaged|promoted|hurt|injured|divorced|fired|laid off|robbed|sick|scammed|mugged)|'
    + 'graduated|retired|(?:sprained|twisted|hurt|injured) my \\p{L}+)(?=$|,| (?:and|but|at|in|from|'
    + 'with)\\b)( at work)?',
  'iu',
)

/** Verbs of making or finding things that last. */
const MAKES = /^(?:made|painted|drew|built|wrote|designed|created|composed|baked|knitted|sewed|done|found|read)$/i
/** Objects of MAKES that are idioms or do not last. */
const IDIOM = new RegExp(
  String.raw`^(?:(?:an?|the|my|some|this|that|our(?: own)?) )?(?:\w+ ){0,2}(?:decisions?|difference|`
    + String.raw`mistakes?|points?|choices?|lists?|fix(?:es)?|calls?|deal|mess|wish(?:es)?|promises?|plans?|`
    + String.raw`commitment|notes?|efforts?|start|move|changes?|appointment|reservation|progress|friends?|`
    + String.raw`sense|sure|time|way|job|work|fun|balance|joy|solace|comfort|peace|connections?|sure|memories|`
    + String.raw`bit|lot)\b`,
  'i',
)

/** Objects of "went to" that are everyday errands or idioms. */
const DAILY = new RegExp(
  String.raw`^(?:bed|go|sleep|work|school|lunch|dinner|breakfast|church|town|hell|pieces|waste|great|see|get|find|`
    + String.raw`check)\b`,
  'i',
)

/** A thing with a demonstrative. */
const WITH_DEMONSTRATIVE =
  /^(?:this|that|another) (?!(?:after|in|at|on|for|with|because|to|when|one|too|and|by|as|while|time)\b)(\p{L}.*)$/iu
/** Replaces a demonstrative with an article, because a fact has no context: "this shelf" becomes "a shelf". */
function withArticle(what: string): string {
  const noun = WITH_DEMONSTRATIVE.exec(what)?.[1]
  if (noun !== undefined) return `${/^[aeio]/i.test(noun) ? 'an' : 'a'} ${noun}`
  return what.replace(/^(?:these|those) (?=(?:\p{L}+ )?\p{L}+s\b)/iu, '')
}

/** Returns an event's object with its time; null if the object needs context. */
export function dated(object: string, when: string, name: string): string | null {
  const clean = standalone(object, name)
  return clean && !RELATIVE.test(clean) ? `${clean} ${when}` : null
}

/** An object that a past event identifies, followed by a time: "the book I read last week". */
const BY_EVENT = new RegExp(
  String.raw`\b(?:this|that|these|those|the|an?|some) ((?:(?!time|day|thing|one|people|person|moment|pics?|pictures?|`
    + String.raw`photos?|first|last|way|place|stuff|reason|of\b|from\b)[\p{L}'-]+ ){1,3})(?:that |which )?(?:i|we)`
    + String.raw`(?: just| recently| finally)? (bought|made|painted|drew|built|wrote|baked|went to|attended|visited|`
    + String.raw`read|saw|took|planted|did) (.+)$`,
  'iu',
)
/** Reads an event that identifies a thing: "Here's a lamp I made last week". */
export function byEvent(clause: string, name: string, at: Date): Statement | null {
  const [, what, verb, tail] = BY_EVENT.exec(clause) ?? []
  const time = tail === undefined ? null : readTime(tail, at, true)
  if (!what || !verb || !time || time.isFuture || !tail!.endsWith(time.rest)) return null
  const noun = what.trim().replace(/^(?:recent|latest|new) /i, '')
  const article = /[^s]s$/i.test(noun) ? '' : /^[aeio]/i.test(noun) ? 'an ' : 'a '
  const predicate = /^did$/i.test(verb) ? 'made' : verb.toLowerCase()
  // A purpose may follow: "a trip for her birthday".
  const more = /^(?:to|for|with|in|at) /i.test(time.rest) ? ` ${time.rest}` : ''
  if (more === '' && BARE.test(noun)) return null
  return { predicate, object: dated(article + noun + more, time.when, name), confidence: 0.7 }
}
/** Nouns that are too general without further words. */
const BARE = /^(?:books?|movies?|films?|shows?|songs?|videos?|articles?|trips?|games?|series|class|events?|places?)$/i

function went(phrase: string, when: string, name: string): Statement | null {
  const [, doing, more = ''] = WENT.exec(phrase) ?? []
  if (!doing) return null
  const place = more
    .trim()
    .replace(/(?:^|,|\s)(?:and|but|so|to)\s.*$|,.*$/i, '')
    .replace(RECENTLY, '')
  const isPlace = /^(?:with|in|at|to|on|by|around|near|for|through|along)\b/i.test(place)
  const where = place === '' ? '' : isPlace ? thing(place, name) : null
  const object = where === null ? null : [where, when].filter(Boolean).join(' ')
  return object ? { predicate: doing.toLowerCase(), object, confidence: 0.8 } : null
}

/** Reads an event in the speaker's life; without a time, only a lasting one. */
function change(phrase: string, when: string, name: string): Statement | null {
  const [, what, where = ''] = CHANGES.exec(phrase) ?? []
  if (!what || (when === '' && !/^got (?:promoted|divorced|fired|laid off)$/i.test(what))) return null
  const [verb, ...rest] = what.split(' ')
  const state = rest.join(' ').replace(/\bmy\b/i, `${name}'s`)
  return { predicate: verb!.toLowerCase(), object: `${state}${where} ${when}`.trim(), confidence: 0.8 }
}

/** A part of the speaker's life: "when I was younger". */
const STAGE =
  /,? when (?:i|we) (?:was|were) (younger|(?:an? )?(?:kids?|child|children|little|small)|in [\p{L} ]{4,20})$/iu

/** Reads a past event of the clause; null if there is none. */
export function pastEvent(scene: Scene): Statement | null {
  const { predication } = scene
  const [whole, stage] = STAGE.exec(predication.rest) ?? []
  if (whole === undefined || !stage) return eventIn(scene)
  const event = eventIn({ ...scene, predication: { ...predication, rest: predication.rest.slice(0, -whole.length) } })
  const when = stage.startsWith('in ') ? stage : stage === 'younger' ? 'when younger' : 'as a child'
  return event?.object ? { ...event, object: `${event.object} ${when}` } : null
}

function eventIn({ name, at, predication }: Scene): Statement | null {
  const { tense, isDenied, form, rest } = predication
  if (isDenied || !(tense & (PAST_TENSE | PERFECT | PAST_PROGRESSIVE)) || predication.adverbs.includes('always'))
    return null
  const phrase = `${form} ${rest}`
  const time = readTime(phrase, at, true)
  if (!time) return tense === PAST_PROGRESSIVE ? null : undated(phrase, name)
  if (time.isFuture) return null
  if (tense !== PAST_PROGRESSIVE) return datedEvent(time, name)
  const visited = /^visiting (.+)$/i.exec(time.rest)?.[1]
  return visited ? { predicate: 'visited', object: dated(visited, time.when, name), confidence: 0.8 } : null
}

function datedEvent(time: Timed, name: string): Statement | null {
  const happened = went(time.rest, time.when, name) ?? change(time.rest, time.when, name)
  if (happened) return { ...happened, ...(LIFELONG.test(time.rest) && { validFrom: time.from }) }
  const [, at, fun] = FUN.exec(time.rest) ?? []
  if (fun)
    return { predicate: `had a good time ${at!.toLowerCase()}`, object: dated(fun, time.when, name), confidence: 0.75 }
  const [, verb, what] = PAST_VERBS.exec(time.rest) ?? []
  if (!verb || !what || !isWorthRemembering(verb, what) || (verb !== 'joined' && MEAL.test(what))) return null
  return { predicate: verb.toLowerCase(), object: dated(withArticle(what), time.when, name), confidence: 0.8 }
}
/** Changes whose result lasts. */
const LIFELONG = /^(?:got (?:married|engaged|divorced)|graduated|retired)\b/i

function isWorthRemembering(verb: string, what: string): boolean {
  if (VAGUE.test(what)) return false
  if (/\bfor (?:dinner|lunch|breakfast|brunch)\b/i.test(what)) return false
  if (/^(?:saw|watched)$/i.test(verb)) return /\p{Lu}/u.test(what)
  if (/^(?:had|took|gave)$/i.test(verb)) return HAD.test(what) || TAKING.test(what)
  if (/^went /i.test(verb)) return !DAILY.test(what) && !/ to (?:buy|get|grab|pick up|check)\b/i.test(what)
  if (/^ran$/i.test(verb)) return !/^(?:out|late|away|over|around|across|off|back|home|through)\b/i.test(what)
  if (/^ran into$/i.test(verb)) return PERSON.test(what)
  if (/^got$/i.test(verb)) return /^(?:an?|two|three|my|some new) /i.test(what)
  if (/^spent$/i.test(verb)) return SPENT.test(what)
  if (MAKES.test(verb)) return !IDIOM.test(what)
  return !/^(?:lost|met|saw|tried|started)$/i.test(verb) || !/^to\b/i.test(what)
}

/** Objects of everyday desk work, which are not worth remembering. */
export const DESK_WORK = new RegExp(
  String.raw`\b(?:files?|tests?|errors?|bugs?|pages?|steps?|functions?|scripts?|commits?|pull requests?|prs?|`
    + String.raw`configs?|schemas?|branch|endpoints?|modules?|parsers?|quer(?:y|ies)|commands?|logs?|tasks?|`
    + String.raw`issues?|code|docs|documentation|migrations?|refactoring|e-?mails?)\b`,
  'i',
)

/** Works that nothing tells apart from others: "a painting", "some soup". */
const SOME_WORK = /^(?:some (?!.*\bfor\b)|an? (?:painting|drawing|cake|sketch|song|poem|story)(?:,| too| as well|$))/iu

/** Meals and other trifles of a day. */
const MEAL = new RegExp(
  String.raw`^(?:(?:an?|the|my|our|some|more|another) )?(?:[\p{L}-]+ ){0,2}(?:dinner|lunch|breakfast|`
    + String.raw`brunch|snacks?|coffee|latte|tea|smoothie|shake|salad|sandwich|pie|cookies|muffins|`
    + String.raw`pancakes|pizzas?|bread|soup|stew|groceries|errands?|nap|shower|gas|nails|hair|work|`
    + String.raw`homework|gym|bed|chores|laundry|notes|to[- ]do list)\b`,
  'iu',
)

/** Places of an outing or a school, which are not worth remembering without a time or a name. */
const PASSING = new RegExp(
  String.raw`^(?:(?:an?|the|my|some) )?(?:[\p{L}-]+ ){0,3}?(?:restaurant|bar|cafe|café|shop|store|`
    + String.raw`mall|park|supermarket|school|college|university|clinic|doctor|cafes)\b`,
  'iu',
)

/** Unspecific objects, such as "a place" or "this event". */
const VAGUE = new RegExp(
  String.raw`^(?:an?|this|that|some) (?:(?:\w+ )?(?:place|spot|event|moment|thing)s?(?: (?:and|but|`
    + String.raw`so)\b.*|,.*)?$|(?:cool|nice|great|fun|amazing) (?:event|place|thing)\b)`,
  'i',
)

/** Past events with a lasting effect. */
const LASTING = new RegExp(
  '^(joined|adopted|bought|signed up for|finished|completed|won|graduated from|visited|attended|'
    + 'applied (?:to|for)|founded|published|enrolled in|built|organi[sz]ed|celebrated|contacted|donated|'
    + 'planted|sold|launched|participated in|took part in|competed in|performed (?:at|in)|volunteered (?:at|'
    + 'for)|went (?:to|on)|travell?ed to|led|hosted|taught) ((?:an?|another|my|two|three|some|multiple|several|'
    + 'the \\p{Lu}|\\p{Lu}|\\p{L}+s\\b).*)$',
  'u',
)
/** Past events with a lasting effect only for certain objects. */
const LASTING_IF: [verb: string, what: string][] = [
  ['painted|drew|wrote|designed|created|composed|made|done', '(?:an?|another|this|that|these|some|our own) .+'],
  ['got', 'some new .+'],
  [
    'started',
    '(?!(?:feel|think|cry|laugh|talk|get|gett|notic|realiz|wonder|hav|be|see|shak|runn|look)ing\\b|'
      + '(?:the|this|it|out|off|with|to)\\b|\\w+ing (?:to )?my )(?:\\w+ing|an? (?:new )?\\w+|my own|looking into) .+',
  ],
  ['started', 'to (?:learn|annotate|play|read|write|take|practi[cs]e|collect|work out|run|exercise|paint|draw) .+'],
  ['talked about|shared', 'my .+'],
  ['struggled with', '.+'],
  ['ran into', 'an? .+'],
  ['ran', 'an? (?:[\\p{L}\\d-]+ )?(?:marathon|triathlon|ultramarathon|5k|10k)(?=$|,| ).*'],
]
const lastingIf = LASTING_IF.map(([verb, what]) => new RegExp(`^(${verb}) (${what})$`, 'iu'))

/** Reads a past event without a time; null unless it has a lasting effect. */
function undated(phrase: string, name: string): Statement | null {
  const found = went(phrase, '', name) ?? change(phrase, '', name)
  if (found) return found
  const [, verb, what] = LASTING.exec(phrase) ?? lastingIf.map((one) => one.exec(phrase)).find(Boolean) ?? []
  if (!verb || !what || VAGUE.test(what) || (/^went /i.test(verb) && DAILY.test(what))) return null
  if (DESK_WORK.test(what) || (MAKES.test(verb) && IDIOM.test(what))) return null
  if (/^ran into$/i.test(verb) && !PERSON.test(what)) return null
  if (/^went on$/i.test(verb) && !OUTING.test(what)) return null
  if (/^(?:myself|ourselves|yoga)$/i.test(what) || (MAKES.test(verb) && SOME_WORK.test(what))) return null
  if (/^(?:went to|attended|visited)$/.test(verb) && PASSING.test(what)) return null
  if ((verb !== 'joined' && MEAL.test(what)) || /\bfor (?:dinner|lunch|breakfast|brunch)\b/i.test(what)) return null
  const object = standalone(withArticle(what.replace(RECENTLY, '')), name)
  return { predicate: verb.toLowerCase().replace(/^done$/, 'has done'), object, confidence: 0.7 }
}

/** Vague times, with the text after them. */
const RECENTLY = new RegExp(
  String.raw`,? (?:recently|lately|the other day|a few \w+ ago|some time ago|a while (?:ago|back)|`
    + String.raw`not long ago)\b.*$`,
  'i',
)
