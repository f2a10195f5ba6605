// Twenty conversations with marked decisions, agreements, open issues and dates, which a summary of at most a third of
// their tokens must keep. Our own text, in plain English.

import { chatter, MORE_CASES } from './minutes-cases-more.ts'

/** `kept`: phrases that the summary must contain, under their heading. `gone`: phrases that it must not contain. */
export type MinutesCase = {
  name: string
  turns: [speaker: string, text: string][]
  kept: { Decisions?: string[]; 'Open issues'?: string[]; 'Next steps'?: string[] }
  gone?: string[]
}

export const MINUTES_CASES: MinutesCase[] = [
  {
    name: 'a trip among talk about food',
    turns: [
      ['ada', 'I am vegetarian, and I have been for most of my life because I grew up on a farm with many animals.'],
      ['bob', 'I love steak with pepper sauce, and nobody in my family understands how one can live without it.'],
      ['ada', 'We decided to book the flight on Friday. I still need to choose a hotel.'],
      ['bob', 'The food in Porto is famous for fish, and there are small places near the bridge with music.'],
      ['ada', 'Grilled vegetables with olive oil are all I want when the evenings are warm and long.'],
      ['bob', 'My sister went there two years ago and came back with a suitcase full of cheese and wine.'],
      ['ada', 'A suitcase full of cheese sounds like something that my father would bring home too.'],
      ['bob', 'He would like the market hall with the blue tiles, where they sell bread as big as a wheel.'],
    ],
    kept: { Decisions: ['book the flight on Friday'], 'Open issues': ['choose a hotel'] },
  },
  {
    name: 'the launch of a website',
    turns: [
      ['mia', 'The new website looks good on large screens, and the pictures load much faster than before.'],
      ['tom', 'I like the colours, although the green of the buttons reminds me of a hospital corridor.'],
      ['mia', 'That green comes from the logo, and the client has used it on everything for ten years.'],
      ['tom', 'Fair enough, and the fonts are pleasant to read even on my old telephone.'],
      ['mia', 'The board approved the budget for the launch campaign this morning.'],
      ['tom', 'Good news at last, after all those long meetings with tables full of numbers.'],
      ['mia', 'The launch is scheduled for March 3, at nine in the morning.'],
      ['tom', "We haven't decided who writes the press release, and both agencies are busy."],
      ['mia', 'The second agency wrote a lovely text about the museum last year, with a lot of humour.'],
      ['tom', 'Humour is not what this client likes, as we learned with the talking penguin.'],
      ['mia', 'I still laugh about the penguin when I walk past the old posters in the hall.'],
      ['tom', 'The penguin deserved better than that, and so did the poor actor inside the costume.'],
    ],
    kept: {
      Decisions: ['approved the budget'],
      'Open issues': ['who writes the press release'],
      'Next steps': ['March 3'],
    },
  },
  {
    name: 'a birthday with an agreement at the end',
    turns: [
      ['eva', 'Our mother turns seventy, and she says that she wants no fuss at all, as she always says.'],
      ['leo', 'She said the same thing ten years ago and then danced until the musicians went home.'],
      ['eva', 'The garden would be lovely, but the grass is wet at that time of the year.'],
      ['leo', 'The old inn at the lake has a large room with a fireplace and friendly people.'],
      ['eva', 'I remember the fireplace, because uncle Karl burned his sleeve on it at your wedding.'],
      ['leo', 'He told that story for years, and the sleeve became longer each time he told it.'],
      ['eva', "Let's go with the inn at the lake, then."],
      ['leo', 'Saturday, 14 June works for me and for the children as well.'],
      ['eva', 'We still need to find out whether aunt Rosa can climb the stairs.'],
      ['leo', 'Her knee has been better since the doctor gave her those exercises with the rubber band.'],
      ['eva', 'She does them in front of the television and counts aloud in three languages.'],
    ],
    kept: {
      Decisions: ['the inn at the lake, then', '14 June works for me'],
      'Open issues': ['whether aunt Rosa can climb the stairs'],
    },
  },
  {
    name: 'a broken server with a settled question',
    turns: [
      ['ops', 'The mail server was slow all night, and the queue grew to a length that I have never seen.'],
      ['dev', 'My graphs show a peak at midnight, when the backups start and the disks become busy.'],
      ['ops', "It's unclear which disk causes the errors, so I looked at all of them one after another."],
      ['dev', 'The third one makes a clicking sound, like a clock in a very quiet room.'],
      ['ops', 'A clicking clock in a server room is not a sound that I want to hear at three in the morning.'],
      ['dev', 'We found the disk with the errors: it is the third one, and its replacement costs little.'],
      ['ops', 'We agreed to move the backups to four in the morning.'],
      ['dev', 'Who will tell the branch office about the new time of the backups?'],
      ['ops', 'No idea. They never read the announcements anyway, and they call me when something breaks.'],
      ['dev', 'I will order the new disk tomorrow, together with spare cables for the rack.'],
      ['ops', 'The cables in that rack look like spaghetti that somebody has thrown against a wall.'],
    ],
    kept: {
      Decisions: ['move the backups to four'],
      'Open issues': ['tell the branch office'],
      'Next steps': ['order the new disk tomorrow'],
    },
    gone: ['unclear which disk'],
  },
  {
    name: 'a flat that two friends rent',
    turns: [
      ['kim', 'The flat has two rooms of the same size, a small kitchen, and a view over the railway.'],
      ['sam', 'I do not mind trains, because I grew up beside a station and slept through every whistle.'],
      ['kim', 'The kitchen has gas, which my aunt calls dangerous and every cook calls the only way.'],
      ['sam', 'There is a bakery on the ground floor, so the stairs smell of warm rolls at six.'],
      ['kim', 'We have finally agreed on a rent of 1,240 euros with the landlady.'],
      ['sam', 'She was kinder than the one before, who counted the spoons when we visited her house.'],
      ['kim', 'The contract starts on 1 September, so we have a month to pack our boxes.'],
      ['sam', "I'm not sure whether the washing machine fits into the bathroom."],
      ['kim', 'My old one was as narrow as a cupboard and jumped through the room when it was spinning.'],
      ['sam', 'A jumping machine above a bakery sounds like the beginning of a long friendship.'],
    ],
    kept: {
      Decisions: ['agreed on a rent of 1,240 euros'],
      'Open issues': ['whether the washing machine fits'],
      'Next steps': ['1 September'],
    },
  },
  {
    name: 'a support case',
    turns: [
      ['customer', 'The lamp that I bought flickers whenever the heating turns on, and it hums like a fridge.'],
      ['agent', 'That sounds unpleasant, and I have seen it with lamps that share a line with a heater.'],
      ['customer', 'It is the only socket on that wall, because the house is older than my grandparents.'],
      ['agent', 'Old houses have charm and very few sockets, as I know from my own living room.'],
      ['customer', 'The dimmer makes it worse, and the dog leaves the room when I touch it.'],
      ['agent', 'We decided to replace the lamp free of charge.'],
      ['customer', 'That is kind of you, and the dog will be grateful as well.'],
      ['agent', 'The parcel is due on Tuesday, 9 April, between ten and twelve.'],
      ['customer', 'I am usually in the garden at that time, with a radio and a cup of tea.'],
      ['agent', 'We are waiting for the serial number on the bottom of the lamp.'],
      ['customer', 'The bottom is covered with a felt that somebody has glued on with great care.'],
    ],
    kept: {
      Decisions: ['replace the lamp free of charge'],
      'Open issues': ['waiting for the serial number'],
      'Next steps': ['9 April'],
    },
  },
  {
    name: 'a long talk with one decision in the middle',
    turns: [
      ...chatter(20, 0, ['ada', 'bob']),
      ['ada', 'By the way, we chose the blue tent for the festival.'],
      ['bob', 'The open question is how we get the tent onto the train.'],
      ...chatter(18, 3, ['ada', 'bob']),
      ['ada', 'The train leaves on Thursday at 7:40.'],
    ],
    kept: {
      Decisions: ['chose the blue tent'],
      'Open issues': ['how we get the tent onto the train'],
      'Next steps': ['Thursday at 7:40'],
    },
  },
  {
    name: 'sixty turns with marks at the beginning',
    turns: [
      ['nora', 'The committee voted for the red bricks.'],
      ['paul', 'It is still unclear who pays for the scaffolding.'],
      ['nora', 'The deadline for the offers is 30 November.'],
      ...chatter(57, 5, ['nora', 'paul']),
    ],
    kept: {
      Decisions: ['voted for the red bricks'],
      'Open issues': ['who pays for the scaffolding'],
      'Next steps': ['30 November'],
    },
  },
  {
    name: 'a team that plans a release',
    turns: [
      ['iris', 'The tests are green since yesterday evening, which has not happened for two whole weeks.'],
      ['jon', 'I watched them turn green one by one, and it felt like the lights of a Christmas tree.'],
      ['iris', 'The import of large files takes four minutes now, where it took half an hour in spring.'],
      ['jon', 'Half an hour was enough time to cook noodles, and some of us did exactly that.'],
      ['iris', 'The team decided against a release on Friday.'],
      ['jon', 'Nobody wants to repair things on a Saturday, with wet hair and a crying child on the arm.'],
      ['iris', 'We will release version 2.4 on Monday, 7 October.'],
      ['jon', "We haven't heard back from the security reviewers yet."],
      ['iris', 'They sit on the fourth floor, behind a door that looks like the door of a bank.'],
      ['jon', 'I once brought them cake, and they examined the box before anybody took a piece.'],
      ['iris', 'Their caution is charming as long as it is about cake and not about our dates.'],
    ],
    kept: {
      Decisions: ['decided against a release on Friday'],
      'Open issues': ["haven't heard back from the security reviewers"],
      'Next steps': ['Monday, 7 October'],
    },
  },
  {
    name: 'a school project',
    turns: [
      ['lena', 'Our teacher wants a model of a volcano, like every teacher before her since the stone age.'],
      ['omar', 'The last volcano stained the ceiling, and my father still talks about the colour.'],
      ['lena', 'A model of a bridge would be harder, but nobody would have to clean the ceiling.'],
      ['omar', 'Bridges are beautiful, and there is one near my house that sings when the wind blows.'],
      ['lena', "It's settled: we build a bridge of paper."],
      ['omar', 'Paper is cheap, and my mother has a whole drawer of old maps that we may use.'],
      ['lena', 'Maps would look wonderful, with rivers and roads on every single beam of the bridge.'],
      ['omar', 'We need to figure out how much weight it must carry.'],
      ['lena', 'Our class has a parrot that weighs as much as a loaf of bread and likes high places.'],
      ['omar', 'The presentation is on May 21 in the gym.'],
      ['lena', 'The gym smells of rubber and fear, but it has enough room for a very long bridge.'],
    ],
    kept: {
      Decisions: ['we build a bridge of paper'],
      'Open issues': ['how much weight it must carry'],
      'Next steps': ['May 21'],
    },
  },
  ...MORE_CASES,
]
