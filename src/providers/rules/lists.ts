// Closed lists for the extraction rules. A word that is not listed is never read as a job, a relative, a language etc.

const either = (list: string) => list.trim().split(/,\s*/).join('|')

/** Relatives, friends, colleagues and pets in the singular. */
export const RELATIVES =
  either(`wife, husband, partner, spouse, fiance, fiancé, fiancee, fiancée, girlfriend, boyfriend,
  son, daughter, kid, child, baby, brother, sister, sibling, twin brother, twin sister, mother, mom, mum, father, dad,
  grandmother, grandma, grandfather, grandpa, aunt, uncle, cousin, niece, nephew, stepson, stepdaughter,
  mother-in-law, father-in-law, brother-in-law, sister-in-law, boss, manager, roommate, flatmate, neighbor, neighbour,
  best friend, friend, colleague, coworker, co-worker, dog, cat, puppy, kitten, parrot, hamster, horse, pup, kitty,
  rabbit, bunny, tortoise, turtle, guinea pig, pet`)

/** Relatives and pets in the plural, for statements with a number. */
export const COUNTED = either(`kids, children, sons, daughters, brothers, sisters, siblings, dogs, cats, pets,
  puppies, kittens, grandchildren, grandkids, cousins, nieces, nephews, horses, rabbits, chickens`)

export const JOBS = either(`accountant, actor, actress, analyst, architect, artist, assistant, attorney, author,
  baker, banker, barber, barista, bartender, bookkeeper, builder, carpenter, cashier, chef, chemist, clerk, coach,
  consultant, contractor, cook, counselor, counsellor, data scientist, dentist, designer, developer, dietitian,
  director, doctor, doctoral student, driver, economist, editor, electrician, engineer, farmer, filmmaker,
  firefighter, florist, freelancer, gardener, hairdresser, historian, illustrator, journalist, judge,
  kindergarten teacher, lawyer, lecturer, librarian, linguist, manager, marketer, mathematician, mechanic, midwife,
  musician, nurse, nutritionist, painter, paralegal, paramedic, pastor, pharmacist, phd student, photographer,
  physician, physicist, physiotherapist, pilot, plumber, police officer, postdoc, principal, producer, professor,
  programmer, psychiatrist, psychologist, realtor, receptionist, recruiter, reporter, researcher, salesman,
  salesperson, scientist, seamstress, secretary, social worker, software engineer, statistician, student, surgeon,
  tailor, teacher, technician, therapist, trainer, translator, tutor, veterinarian, vet, waiter, waitress,
  web developer, welder, writer, yoga instructor, instructor, sysadmin, administrator, electrical engineer`)

/** States and social roles, for "I am …". */
export const STATES = either(`married, engaged, divorced, single, widowed, pregnant, vegan, vegetarian, a vegan,
  a vegetarian, pescatarian, a pescatarian, left-handed, right-handed, colorblind, color-blind, colour-blind,
  lactose intolerant, lactose-intolerant, gluten intolerant, gluten-intolerant, diabetic, celiac, coeliac, dyslexic,
  asthmatic, retired, unemployed, self-employed, an introvert, an extrovert, transgender, a trans woman, a trans man,
  gay, lesbian, bisexual, deaf, a night owl, an early bird, a single mom, a single mother, a single dad,
  a single father, a single parent, a mom, a mother, a dad, a father, a parent, a grandmother, a grandfather,
  a teetotaler, an only child`)

export const LANGUAGES = either(`Arabic, Bengali, Bulgarian, Cantonese, Catalan, Chinese, Croatian, Czech, Danish,
  Dutch, English, Estonian, Farsi, Finnish, French, German, Greek, Gujarati, Hebrew, Hindi, Hungarian, Icelandic,
  Indonesian, Irish, Italian, Japanese, Korean, Latin, Latvian, Lithuanian, Malay, Mandarin, Norwegian, Persian,
  Polish, Portuguese, Punjabi, Romanian, Russian, Serbian, Slovak, Slovenian, Spanish, Swahili, Swedish, Tagalog,
  Tamil, Telugu, Thai, Turkish, Ukrainian, Urdu, Vietnamese, Welsh, sign language`)

/** Instruments, sports and games, for "I play …". */
export const PLAYED = either(`acoustic guitar, bass guitar, electric guitar, guitar, bass, piano, keyboard, violin,
  viola, cello, flute, clarinet, saxophone, trumpet, trombone, drums, harp, banjo, ukulele, accordion, harmonica,
  organ, tennis, football, soccer, basketball, baseball, volleyball, badminton, table tennis, golf, hockey,
  ice hockey, rugby, cricket, chess, poker, bridge, squash, handball, softball, pickleball, video games, board games`)

/** Properties of a person, for "my … is …". */
export const PROPERTIES = either(`email, email address, phone number, address, home address, budget, deadline,
  time zone, timezone, job, job title, profession, occupation, major, nickname, pronouns, native language,
  mother tongue, first language, hometown, home town, home country, blood type, zodiac sign, star sign, shoe size,
  goal, main goal, dream job, hobby, main hobby, company, employer, operating system, editor, preferred language,
  github handle, username, passion, dream, biggest fear, specialty, alma mater`)
