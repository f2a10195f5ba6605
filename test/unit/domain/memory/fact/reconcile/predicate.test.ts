// Classes of predicates: synonyms, denials, and predicates with one object at a time, as a table of wordings.

import { describe, expect, it } from 'vitest'
import { classify } from '../../../../../../src/domain/memory/fact/reconcile/predicate.ts'
import { createRulesExtractor } from '../../../../../../src/providers/rules/fact-extractor.ts'
import { LABELLED } from '../../../../providers/rules/labels.ts'

describe('a predicate', () => {
  it.each([
    ['lives in', ['Lives in', 'resides in', 'is living in', 'currently lives in', 'moved to', 'has lived in']],
    ['works at', ['works for', 'is employed by', 'employer', 'is working at', 'joined']],
    ['works as', ['job', 'job title', 'occupation', 'is employed as']],
    ['is named', ['name', 'is called', 'has the name']],
    ['is aged', ['age', 'has age', 'is years old']],
    ['has birthday on', ['birthday', 'was born on', 'date of birth']],
    ['is married to', ['married to', 'spouse', 'husband', 'has a wife named']],
    ['likes', ['like', 'loves', 'really likes', 'enjoys', 'is a fan of', 'is into']],
    ['prefers', ['prefer', 'preference']],
    ['favourite colour', ['favourite colour is']],
  ])('%s has synonyms', (name, wordings) => {
    const classes = wordings.map((wording) => [wording, classify(wording)])
    expect(classes).toEqual(wordings.map((wording) => [wording, classify(name)]))
  })

  it.each([
    ['does not like', 'likes'],
    ["doesn't like", 'likes'],
    ['doesn’t like', 'likes'],
    ['dislikes', 'likes'],
    ['hates', 'likes'],
    ["can't stand", 'likes'],
    ['no longer likes', 'likes'],
    ['never eats', 'eats'],
    ["can't eat", 'eats'],
    ['cannot eat', 'eats'],
    ['no longer works at', 'works at'],
    ['left', 'works at'],
    ['quit the job at', 'works at'],
    ['does not live in', 'lives in'],
    ['used to live in', 'lives in'],
    ['moved away from', 'lives in'],
    ['is not married to', 'is married to'],
    ['is divorced from', 'is married to'],
    ['stopped using', 'uses'],
  ])('%s denies %s', (denial, denied) => {
    const [one, other] = [classify(denial), classify(denied)]
    expect(one.name).toBe(other.name)
    expect([one.isDenied, other.isDenied]).toEqual([true, false])
    expect(one.cardinality).toBe('MANY')
  })

  it('that is negated twice is affirmative', () => {
    expect(classify('does not dislike')).toEqual(classify('likes'))
  })

  it.each([
    'lives in',
    'works at',
    'works as',
    'is named',
    'age',
    'birthday',
    'is married to',
    'favorite film',
    'was born in',
  ])('%s has one object at a time', (predicate) => {
    expect(classify(predicate).cardinality).toBe('ONE')
  })

  it.each([
    'likes',
    'speaks',
    'visited',
    'has a daughter named',
    'has as a favorite city',
    'bought',
    'lived in',
    'worked at',
    'liked',
  ])('%s has many objects', (predicate) => {
    expect(classify(predicate).cardinality).toBe('MANY')
  })

  it.each([
    ['lived in', 'lives in'],
    ['worked at', 'works at'],
    ['favorite film is', 'favorite food is'],
    ['favorite film is', 'has as a favorite film'],
    ['works at', 'works as'],
    ['was born in', 'was born on'],
    ['is married to', 'is dating'],
    ['visits', 'likes'],
  ])('%s is not a synonym of %s', (one, other) => {
    expect(classify(one).name).not.toBe(classify(other).name)
  })

  it('that the rules extractor returns is in the table, except for events, relations and plans', async () => {
    const turns = LABELLED.map(([text], i) => ({
      id: `turn_${i}`,
      actor: 'ada',
      displayName: 'Ada',
      kind: 'HUMAN' as const,
      text,
      at: new Date('2026-05-13'),
    }))
    const { facts } = await createRulesExtractor().extract(turns)
    const unknown = facts.map(({ predicate }) => predicate).filter((each) => classify(each).section === 'OTHER')
    const EVENTS = new RegExp(
      '^(?:went|visited|bought|ran|started|adopted|finished|joined|signed|plans|will|decided|was helped|has been|has known|'
        + 'painted|took|had|made|got|donated|spent|mourns|wrote|celebrated|struggled|talked|as a child|interned|has (?:never |always )?(?:had|wanted))\\b',
    )
    const RELATIONS_AND_PLANS =
      /^(?:has a \w+ named|runs|is (?:learning|planning|considering|putting together|taking)|can$|cannot$|(?:wants|dreams|is ready|is going) to|looks forward)/
    expect(unknown.filter((each) => !EVENTS.test(each) && !RELATIONS_AND_PLANS.test(each))).toEqual([])
    expect(new Set(facts.map(({ predicate }) => predicate)).size).toBeGreaterThan(50)
  })
})
