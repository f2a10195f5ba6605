// The rules for what speakers say about themselves: character, origin, studies, groups, skills, interests, fears and
// health. Adjectives of moods ("I'm tired") are not facts.

import { organisation, thing } from './objects.ts'
import { DEMONYMS } from './places.ts'
import { AM, amRule, beRule, HAVE, I, rule, selfRule, statement, type Rule } from './rule.ts'

const CHARACTERS =
  'introvert|extrovert|ambivert|introverted|extroverted|perfectionist|homebody|(?:morning|night|people|cat|dog|beach|'
  + 'city|coffee|tea) person|foodie|bookworm|gamer|minimalist|beginner|novice|(?:lifelong |fast |slow |'
  + 'visual )learner|feminist|'
  + '(?:picky|big|healthy) eater|(?:heavy|light) sleeper|(?:cat|dog|pet|home|business|restaurant) owner|'
  + 'hopeless romantic|workaholic|procrastinator|'
  + '(?:[ie][ns][tf][jp])|(?:movie|music|history|book|anime|comic|film|tech|car|plant|math|science|'
  + 'computer|art|theater) (?:nerd|geek|buff|lover|enthusiast|fan)|'
  + 'nerd|clean freak|control freak|sports fan|christian|catholic|muslim|jewish|hindu|buddhist|atheist|agnostic|mormon|'
  + 'sikh|veteran|immigrant|twin|middle child|oldest child|youngest child|shy|competitive|ambidextrous'

const YEARS =
  'freshm[ae]n|sophomore|junior|senior|(?:first|second|third|fourth|final|last)[- ]year(?: student)?|'
  + '(?:grad|graduate|undergrad|undergraduate|college|university|medical|law|transfer|international|exchange|nursing|'
  + 'engineering|business|art|high school) student|undergrad'

const GROUPS =
  'team|club|band|choir|orchestra|group|program|programme|league|society|committee|fraternity|sorority|'
  + 'squad|crew|church|community|'
  + 'organi[sz]ation|association|union|troupe|ensemble'

/** Skills that need no object. */
const SKILLS =
  'swim|drive(?: stick)?|cook|bake|sing|dance|ski|snowboard|skate|surf|juggle|whistle|knit|sew|crochet|'
  + 'draw|paint|code|program|'
  + 'ride (?:an? )?(?:bikes?|horses?|motorcycles?)|read music|play (?!around|with|along|together|today).+|'
  + 'read (?:korean|japanese|chinese|arabic|hebrew|hindi)|'
  + '(?:eat|handle) (?:spicy|dairy|gluten|lactose|meat|seafood|shellfish|caffeine)[^,]*|'
  + 'drink (?:alcohol|coffee|milk|caffeine)|do (?:an? )?(?:handstands?|cartwheels?|backflips?|splits|pull-?ups?)'

const CONDITIONS =
  'asthma|adhd|add|anxiety|social anxiety|depression|insomnia|migraines?|diabetes|eczema|ocd|ptsd|'
  + 'arthritis|scoliosis|acne|'
  + 'astigmatism|epilepsy|anemia|tinnitus|dyslexia|sleep apnea|high blood pressure|allergies|chronic pain|'
  + 'back pain|vertigo|'
  + 'lactose intolerance|motion sickness|hay fever|stage fright|social media addiction|imposter syndrome'
const FOLLOWED =
  '(?=$|,|[;(]|\\s(?:and|but|so|which|because|since|as|too|at|in|by|who|from|when|that|with|myself|for|now)\\b)'

const article = (noun: string) => (/^[aeiou]/i.test(noun) ? 'an' : 'a')

export const SELF_RULES: Rule[] = [
  amRule(
    `${AM}(?:(?:more of|such|like|kind of|a bit of|not) )*(an? )?((?:(?:huge|big|proud|total|bit|`
      + `self-proclaimed|massive|real|true|hardcore|avid|`
      + `picky|great|pretty|fairly|super|absolute|complete|recovering) )*)(${CHARACTERS})${FOLLOWED}`,
    ([whole, a, , what]) =>
      /\b(?:great|bit|like)\b/i.test(whole!.slice(0, whole!.lastIndexOf(what!)))
        ? null
        : statement(
            /\bnot\b/i.test(whole!) ? 'is not' : 'is',
            `${a ? `${article(what!)} ` : ''}${spelled(what!)}`,
            0.85,
          ),
  ),
  amRule(
    `${AM}(?:an? )?((?:half|part|originally|ethnically) )?(${DEMONYMS})(?: and ((?:half `
      + `)?(?:${DEMONYMS})))?(?: (?:guy|girl|man|woman|person))?(?:$|,|\\s(?:but|so|too|and (?:i|my|we)|by|`
      + `myself)\\b)`,
    ([, part = '', what, second]) =>
      statement('is', [`${part}${capital(what!)}`.trim(), ...(second ? [capital(second)] : [])].join(' and '), 0.85),
  ),
  amRule(
    `${AM}(?:an? |in my )?(${YEARS})(?: year)?(?:(?: here)? (?:at|attending) (.+)|${FOLLOWED})`,
    ([, year, org], { name }) => {
      const at = org ? organisation(org, name) : null
      const what = year!.toLowerCase().replace('freshmen', 'freshman')
      return [statement('is', `a ${what}`, 0.85), ...(at ? [statement('studies at', at, 0.85)] : [])]
    },
  ),
  amRule(`${AM}the (oldest|youngest|middle|only) (child|sibling|boy|girl|daughter|son|one)\\b`, ([, which, who]) =>
    statement('is', `the ${which!.toLowerCase()} ${who === 'one' ? 'child' : who!.toLowerCase()}`, 0.8),
  ),
  amRule(`${AM}(?:pretty |very |really |so |fairly |relatively |still )*new to (.+)$`, ([, what], { name }) =>
    statement('is new to', thing(what!, name), 0.75),
  ),
  amRule(`${AM}taking a (?:\\p{L}+ )?break from (.+)$`, ([, what], { name }) =>
    statement('is taking a break from', thing(what!, name), 0.75),
  ),
  selfRule(`${I}(?:look up to|admire) (.+)$`, ([, whom], { name }) =>
    statement('looks up to', thing(whom!, name), 0.8),
  ),
  selfRule(`${I}dabble in (.+)$`, ([, what], { name }) => statement('dabbles in', thing(what!, name), 0.8)),
  selfRule(
    'i (?:also |do )*have an? (?:(?:very|really|bad|good|terrible|weird|strange) )*habit of (.+)$',
    ([, what], { name }) => statement('has the habit', thing(what!, name), 0.75),
  ),
  amRule(`${AM}attending (\\p{Lu}.+)$`, ([, org], { name }) =>
    statement(
      'studies at',
      /\b(?:university|college|school|institute|academy)\b/i.test(org!) ? organisation(org!, name) : null,
      0.8,
    ),
  ),
  selfRule(`${I}(?:go to|attend) (\\p{Lu}.+)$`, ([, org], { name }) => {
    const at = /\b(?:university|college|school|institute|academy|state|tech)\b/i.test(org!)
      ? organisation(org!, name)
      : null
    return statement('studies at', at, 0.8)
  }),
  amRule(
    `${AM}in ((?:my )?(?:(?:first|second|third|fourth|final|last|freshman|sophomore|junior|senior) `
      + `(?:year|semester))?(?: of | at )?`
      + '(?:college|university|grad(?:uate)? school|law school|med(?:ical)? school|high school|nursing '
      + 'school|middle school)?)'
      + '(?=$|,|\\s(?:and|but|so|right|for|to|studying|now|too)\\b)',
    ([, what], { name }) =>
      statement('is in', what!.trim() === '' || /^my$/i.test(what!) ? null : thing(what!, name), 0.8),
  ),
  beRule(
    `(?:${AM}|${HAVE} been )(?:a )?(?:(?:part|(?:\\p{L}+ )?member|captain|president) of|on|in) ((?:an?|`
      + `the|my|our) (?:[\\p{L}'-]+ ){0,4}(?:${GROUPS}))${FOLLOWED}`,
    ([, what], { name }) => statement('is a member of', thing(what!, name), 0.75),
  ),
  // Skills and interests
  amRule(
    `${AM}((?:not |n't )?)((?:very |really |pretty |too |so |super |that |quite |kind of |the |a |`
      + `extremely |also )*)(good|great|bad|terrible|horrible|awful|decent|best|worst|better|skilled)`
      + '(?: at| in (?=math|science|english|sports|school)) (.+)$',
    ([, not, , how, what], { name }) => {
      const level = /^(?:best|great|skilled)$/i.test(how!)
        ? 'good'
        : /^(?:worst|terrible|horrible|awful)$/i.test(how!)
          ? 'bad'
          : how!.toLowerCase()
      return statement(`is ${not ? 'not ' : ''}${level} at`, thing(what!, name), 0.8)
    },
  ),
  selfRule(`i (?:really |kind of |totally )*(?:suck|am terrible|am awful) at (.+)$`, ([, what], { name }) =>
    statement('is bad at', thing(what!, name), 0.8),
  ),
  amRule(
    `${AM}(not )?(?:very |really |also |so |too |super |quite )*(?:interested in|curious about|`
      + `fascinated by|passionate about) (.+)$`,
    ([, not, what], { name }) => statement(not ? 'is not interested in' : 'is interested in', thing(what!, name), 0.75),
  ),
  selfRule(
    `(?:${AM}(?:really |so |super |very |deathly )*(?:afraid|scared|terrified|frightened) of|i have an? `
      + `(?:\\p{L}+ )?(?:fear|phobia) of) (.+)$`,
    ([, what], { name }) => statement('is afraid of', thing(what!, name), 0.8),
  ),
  selfRule(
    `i (?:also |really |actually |still |honestly |only )*(can|can't|cannot|know how to|don't know how `
      + `to|never learned (?:how )?to) (?:even |really |also |barely )?(?:to )?((?:${SKILLS}))(?=$|,|`
      + `\\s(?:and|but|so|very|pretty|really|well|at|because|which|anymore|too|for)\\b)`,
    ([, can, what], { name }) => statement(/not|n't|never/i.test(can!) ? 'cannot' : 'can', thing(what!, name), 0.8),
  ),
  selfRule(
    "i (?:really |also |honestly )*(?:have no|have zero|don't have (?:any|much)) interest in (.+)$",
    ([, what], { name }) => statement('is not interested in', thing(what!, name), 0.8),
  ),
  selfRule(
    'i (?:also |often |always |sometimes )*have (?:a hard time|trouble|a lot of trouble|difficulty) '
      + '(?:with )?(\\p{L}+ing .+)$',
    ([, what], { name }) => statement('has a hard time', thing(what!, name), 0.75),
  ),
  amRule(`${AM}(?:about |only |already )*(?:halfway|midway|partway) (?:through|into) (.+)$`, ([, what], { name }) =>
    statement('is halfway through', thing(what!, name), 0.75),
  ),
  // Health
  selfRule(
    `(?:${I}(?:have|got)|${HAVE}(?: had| got)?) ((?:an? )?(?:(?:severe|mild|bad|terrible|really bad|`
      + `chronic|some|seasonal) )?(?:${CONDITIONS}))${FOLLOWED}`,
    ([, what], { name }) => statement('has', thing(what!.replace(/^(?:some|really) /i, ''), name), 0.85),
  ),
  selfRule("i (?:was|got|have been|'ve been) (?:recently |just )?diagnosed with (.+)$", ([, what], { name }) =>
    statement('was diagnosed with', thing(what!, name), 0.85),
  ),
  selfRule('i (?:also |still |sometimes )*(?:struggle with|suffer from|deal with) (.+)$', ([, what], { name }) =>
    statement('struggles with', thing(what!, name), 0.8),
  ),
  rule('(?:an? )?(?:bad |terrible )?habit of mine is (.+)$', ([, what], { name }) =>
    statement('has the habit', thing(what!, name), 0.75),
  ),
]

const spelled = (what: string) => (/^[ie][ns][tf][jp]$/i.test(what) ? what.toUpperCase() : what.toLowerCase())
const capital = (what: string) =>
  what
    .toLowerCase()
    .replace(/(^|[ -])\p{L}/gu, (letter) => letter.toUpperCase())
    .replace('Half ', 'half ')
