// Closed lists for the extraction rules. A word that is not listed is never read as a job, a relative, a language etc.

/** Returns a pattern of the items, which may contain spaces and line breaks. */
const either = (list: string) => list.trim().replace(/\s+/g, ' ').split(', ').join('|')

/** Relatives, friends, colleagues and pets in the singular. */
export const RELATIVES =
  either(`wife, husband, partner, spouse, fiance, fiancé, fiancee, fiancée, girlfriend, boyfriend, son, daughter, kid,
  child, baby, brother, sister, sibling, twin brother, twin sister, mother, mom, mum, father, dad, grandmother,
  grandma, grandfather, grandpa, aunt, uncle, cousin, niece, nephew, stepson, stepdaughter, grandson,
  granddaughter, stepmom, stepdad, stepmother, stepfather, godson, goddaughter, godmother, twin, girl best
  friend, guy friend, housemate, landlord, therapist, trainer, mentor, mother-in-law, father-in-law,
  brother-in-law, sister-in-law, boss, manager, roommate, flatmate, neighbor, neighbour, best friend, friend,
  colleague, coworker, co-worker, dog, cat, puppy, kitten, parrot, hamster, horse, pup, kitty, rabbit, bunny,
  tortoise, turtle, guinea pig, pet`)

/** Relatives and pets in the plural, for statements with a number. */
export const COUNTED =
  either(`kids, children, sons, daughters, brothers, sisters, siblings, dogs, cats, pets, puppies, kittens, grandchildren,
  grandkids, cousins, nieces, nephews, horses, rabbits, chickens, roommates, parrots, fish, birds, hamsters,
  turtles`)

export const JOBS =
  either(`accountant, actor, actress, analyst, architect, artist, assistant, attorney, author, baker, banker, barber,
  barista, bartender, bookkeeper, builder, carpenter, cashier, chef, chemist, clerk, coach, consultant,
  contractor, cook, counselor, counsellor, data scientist, dentist, designer, developer, dietitian, director,
  doctor, doctoral student, driver, economist, editor, electrician, engineer, farmer, filmmaker, firefighter,
  florist, freelancer, gardener, hairdresser, historian, illustrator, journalist, judge, kindergarten teacher,
  lawyer, lecturer, librarian, linguist, manager, marketer, mathematician, mechanic, midwife, musician, nurse,
  nutritionist, painter, paralegal, paramedic, pastor, pharmacist, phd student, photographer, physician,
  physicist, physiotherapist, pilot, plumber, police officer, postdoc, principal, producer, professor,
  programmer, psychiatrist, psychologist, realtor, receptionist, recruiter, reporter, researcher, salesman,
  salesperson, scientist, seamstress, secretary, social worker, software engineer, statistician, student,
  surgeon, tailor, teacher, technician, therapist, trainer, translator, tutor, veterinarian, vet, waiter,
  waitress, web developer, welder, writer, yoga instructor, instructor, sysadmin, administrator, electrical
  engineer`)

/** States and social roles, for "I am …". */
export const STATES =
  either(`married, engaged, divorced, single, widowed, pregnant, vegan, vegetarian, a vegan, a vegetarian, pescatarian, a
  pescatarian, left-handed, right-handed, colorblind, color-blind, colour-blind, lactose intolerant,
  lactose-intolerant, gluten intolerant, gluten-intolerant, diabetic, celiac, coeliac, dyslexic, asthmatic,
  retired, unemployed, self-employed, an introvert, an extrovert, transgender, a trans woman, a trans man, gay,
  lesbian, bisexual, deaf, a night owl, an early bird, a single mom, a single mother, a single dad, a single
  father, a single parent, a mom, a mother, a dad, a father, a parent, a grandmother, a grandfather, a
  teetotaler, an only child, expecting, adopted, homeschooled, a twin, vaccinated, sober, dairy free, gluten
  free, gluten-free, dairy-free, a vegan, trans, queer, asexual, nonbinary, non-binary, hard of hearing,
  nearsighted, a night person, a morning person, a stay at home mom, a stay-at-home mom, a stay-at-home dad`)

export const LANGUAGES =
  either(`Arabic, Bengali, Bulgarian, Cantonese, Catalan, Chinese, Croatian, Czech, Danish, Dutch, English, Estonian,
  Farsi, Finnish, French, German, Greek, Gujarati, Hebrew, Hindi, Hungarian, Icelandic, Indonesian, Irish,
  Italian, Japanese, Korean, Latin, Latvian, Lithuanian, Malay, Mandarin, Norwegian, Persian, Polish,
  Portuguese, Punjabi, Romanian, Russian, Serbian, Slovak, Slovenian, Spanish, Swahili, Swedish, Tagalog, Tamil,
  Telugu, Thai, Turkish, Ukrainian, Urdu, Vietnamese, Welsh, sign language`)

/** Instruments, sports and games, for "I play …". */
export const PLAYED =
  either(`acoustic guitar, bass guitar, electric guitar, guitar, bass, piano, keyboard, violin, viola, cello, flute,
  clarinet, saxophone, trumpet, trombone, drums, harp, banjo, ukulele, accordion, harmonica, organ, tennis,
  football, soccer, basketball, baseball, volleyball, badminton, table tennis, golf, hockey, ice hockey, rugby,
  cricket, chess, poker, bridge, squash, handball, softball, pickleball, video games, board games`)

/** Properties of a person, for "my … is …". */
export const PROPERTIES =
  either(`email, email address, phone number, address, home address, budget, deadline, time zone, timezone, job, job
  title, profession, occupation, major, nickname, pronouns, native language, mother tongue, first language,
  hometown, home town, home country, blood type, zodiac sign, star sign, shoe size, goal, main goal, dream job,
  hobby, main hobby, company, employer, operating system, editor, preferred language, github handle, username,
  passion, dream, biggest fear, specialty, alma mater`)

/** Pets, with breeds that are called by name. */
export const PETS =
  either(`dog, dogs, puppy, puppies, pup, pups, cat, cats, kitten, kittens, kitty, kitties, hamster, hamsters, rabbit,
  rabbits, bunny, bunnies, parrot, parrots, bird, birds, fish, turtle, turtles, tortoise, guinea pig, guinea
  pigs, horse, horses, snake, snakes, lizard, gecko, ferret, ferrets, chickens, goldfish, parakeet, parakeets,
  pet, pets, rottweiler, rottweilers, labrador, lab, poodle, husky, chihuahua, pug, corgi, beagle, bulldog,
  german shepherd, golden retriever, goldendoodle, shih tzu, dachshund, terrier, border collie, pit bull,
  pitbull, shepherd, retriever, bulldogs, poodles, huskies`)

/** Belongings and ties worth remembering. */
export const BELONGINGS =
  either(`books, records, plants, collection, car, bike, house, apartment, flat, garden, guitar, piano, violin, camera,
  boat, farm, studio, cabin, tattoo, tattoos, library, business, shop, store, motorcycle, telescope, blog,
  podcast, website, degree, scholarship, internship, mentor, coach, home gym, gym at home, at home gym, laptop,
  computer, pc, gaming pc, macbook, ipad, console, playstation, ps4, ps5, xbox, nintendo, nintendo 64, nintendo
  switch, switch, ds lite, gamecube, pool, swimming pool, backyard, balcony, fireplace, keyboard, drum set, car,
  truck, scooter, beach house, lake house, condo, record player, air fryer, espresso machine, drone, piercing,
  piercings, part-time job, part time job, full-time job, full time job, side job, second job, youtube channel,
  etsy shop, small business, bakery, restaurant, cafe, license, driver's license, masters degree, minor, major,
  brother, family, big family, garage, treadmill, peloton, motorhome, rv, camper, van, tent, kayak, surfboard,
  skateboard, snowboard, telescope, sewing machine, 3d printer, instagram account, followers, passport, green
  card, phd, stepkids, in-laws, vegetable garden, herb garden, greenhouse`)

/** Lasting conditions of health. */
export const TROUBLES =
  either(`asthma, adhd, add, anxiety, social anxiety, depression, insomnia, migraines, diabetes, eczema, ocd, ptsd,
  arthritis, scoliosis, acne, astigmatism, epilepsy, anemia, tinnitus, dyslexia, sleep apnea, high blood
  pressure, allergies, allergy, chronic pain, back pain, vertigo, lactose intolerance, motion sickness, hay
  fever, stage fright, celiac disease, crohn's, lupus, endometriosis, pcos, autism, condition, disability,
  thyroid problems, a bad back, bad knee`)

/** Characters and beliefs, for "I'm a …". */
export const CHARACTERS =
  either(`introvert, extrovert, ambivert, introverted, extroverted, perfectionist, homebody, morning person, night person,
  people person, cat person, dog person, beach person, city person, coffee person, tea person, foodie, bookworm,
  gamer, minimalist, beginner, lifelong learner, fast learner, slow learner, visual learner, feminist, picky
  eater, big eater, healthy eater, heavy sleeper, light sleeper, hopeless romantic, workaholic, procrastinator,
  movie nerd, music nerd, history nerd, book nerd, anime nerd, history buff, movie buff, tech geek, clean freak,
  control freak, christian, catholic, muslim, jewish, hindu, buddhist, atheist, agnostic, mormon, sikh, veteran,
  immigrant, twin, middle child, oldest child, youngest child, shy, competitive, ambidextrous, religious,
  spiritual, cat owner, dog owner, pet owner, homeowner, business owner, shop owner, restaurant owner, football
  player, soccer player, basketball player, tennis player, runner, cyclist, swimmer, hiker, musician, dancer,
  singer, guitarist, drummer, pianist, coffee drinker, tea drinker, smoker, non-smoker, movie lover, animal
  lover, dog lover, cat lover, book lover, music lover, art lover, nature lover, history lover, coffee lover,
  tea lover, night owl, early bird, [ie][ns][tf][jp], outgoing, messy, organized, stubborn, indecisive, clumsy,
  forgetful, impatient, superstitious, spontaneous, easygoing, adventurous, sentimental, athletic, artistic,
  capricorn, aquarius, pisces, aries, taurus, gemini, leo, virgo, libra, scorpio, sagittarius, republican,
  democrat`)

/** Students by year or school, for "I'm a …". */
export const STUDENTS =
  either(`freshman, freshmen, sophomore, first-year student, second-year student, third-year student, fourth-year student,
  final-year student, first year student, second year student, third year student, fourth year student, final
  year student, grad student, graduate student, undergrad student, undergraduate student, undergraduate,
  undergrad, college student, university student, medical student, law student, transfer student, international
  student, exchange student, nursing student, engineering student, business student, art student, high school
  student, junior, senior`)

/** Groups, for "I'm in a …". */
export const GROUPS =
  either(`team, club, band, choir, orchestra, group, program, programme, league, society, committee, fraternity, sorority,
  squad, crew, church, community, organization, organisation, association, union, troupe, ensemble`)

/** Nationalities, for "I'm …". */
export const DEMONYMS =
  either(`albanian, american, argentinian, armenian, asian american, asian, australian, austrian, bangladeshi, belgian,
  brazilian, british, bulgarian, cambodian, canadian, chilean, chinese, colombian, croatian, cuban, czech,
  danish, dominican, dutch, ecuadorian, egyptian, english, ethiopian, filipino, filipina, finnish, french,
  german, ghanaian, greek, guatemalan, haitian, hispanic, hungarian, icelandic, indian, indonesian, iranian,
  iraqi, irish, israeli, italian, jamaican, japanese, jordanian, kenyan, korean, latina, latino, lebanese,
  lithuanian, malaysian, mexican, moroccan, nepali, new zealander, nigerian, norwegian, pakistani, palestinian,
  persian, peruvian, polish, portuguese, puerto rican, romanian, russian, salvadoran, scottish, serbian,
  singaporean, slovak, somali, south african, spanish, sri lankan, swedish, swiss, syrian, taiwanese, thai,
  turkish, ukrainian, venezuelan, vietnamese, welsh`)

/** Countries, states and large cities, which chats write without a capital. */
export const PLACES =
  either(`afghanistan, albania, algeria, argentina, armenia, australia, austria, bangladesh, belgium, bolivia, bosnia,
  brazil, bulgaria, cambodia, canada, chile, china, colombia, costa rica, croatia, cuba, cyprus, czechia,
  denmark, dominican republic, ecuador, egypt, england, estonia, ethiopia, finland, france, germany, ghana,
  greece, guatemala, haiti, honduras, hong kong, hungary, iceland, india, indonesia, iran, iraq, ireland,
  israel, italy, jamaica, japan, jordan, kazakhstan, kenya, korea, south korea, kuwait, latvia, lebanon,
  lithuania, luxembourg, malaysia, malta, mexico, mongolia, morocco, nepal, netherlands, the netherlands, new
  zealand, nigeria, norway, pakistan, palestine, panama, paraguay, peru, philippines, the philippines, poland,
  portugal, puerto rico, qatar, romania, russia, saudi arabia, scotland, senegal, serbia, singapore, slovakia,
  slovenia, somalia, south africa, spain, sri lanka, sweden, switzerland, syria, taiwan, tanzania, thailand,
  tunisia, uganda, ukraine, uruguay, uzbekistan, venezuela, vietnam, wales, the uk, the us, the usa, the states,
  europe, asia, africa, south america, alabama, alaska, arizona, arkansas, california, colorado, connecticut,
  delaware, florida, hawaii, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland,
  massachusetts, michigan, minnesota, mississippi, missouri, montana, nebraska, nevada, new hampshire, new
  jersey, new mexico, new york, new york city, nyc, north carolina, ohio, oklahoma, oregon, pennsylvania, south
  carolina, tennessee, texas, utah, vermont, virginia, wisconsin, wyoming, amsterdam, athens, atlanta, austin,
  bangkok, barcelona, beijing, berlin, boston, brooklyn, brussels, budapest, cairo, chicago, copenhagen, dallas,
  delhi, denver, detroit, dubai, dublin, edinburgh, florence, houston, istanbul, jakarta, la, las vegas, vegas,
  lisbon, london, los angeles, madrid, manchester, manhattan, manila, melbourne, miami, milan, montreal, moscow,
  mumbai, munich, nashville, new orleans, orlando, osaka, oslo, paris, philadelphia, phoenix, portland, prague,
  queens, rome, san diego, san francisco, seattle, seoul, shanghai, stockholm, sydney, taipei, tokyo, toronto,
  vancouver, venice, vienna, warsaw, washington dc, dc, zurich`)
