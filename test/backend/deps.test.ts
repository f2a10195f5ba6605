// createDeps creates the domain's dependencies that the Config selects, and closes them.

import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { createDeps, type DepsConfig } from '../../src/deps.ts'
import { newWorldDir } from '../support/backend.ts'
import { OFFLINE } from '../support/offline.ts'

const open = async (settings: Partial<DepsConfig>) =>
  createDeps({ ...loadConfig({}), dataDir: await newWorldDir(), ...settings }, pino({ level: 'silent' }))

describe('createDeps', () => {
  it('uses the rules, no redaction and the default thresholds', async () => {
    const {
      deps: { factServices, redaction, detectors, automatic },
      close,
    } = await open({})
    expect({
      extractor: factServices.extractor.name,
      judge: factServices.judge,
      redact: redaction.least,
      detectors,
      automatic,
    }).toEqual({
      extractor: 'rules-3',
      judge: null,
      redact: 'off',
      detectors: [],
      automatic: { titles: true, threadSummaryEvery: 0, factExtractionEvery: 1, userSummaryEvery: 0 },
    })
    await close()
    await expect(factServices.extractor.extract([])).rejects.toThrow('closed')
  })

  it('uses the configured model, redaction and custom detectors, and closes the providers that it created', async () => {
    const detectors = [{ kind: 'badge', pattern: /B-\d{4}/ }]
    const automatic = { titles: false, threadSummaryEvery: 1, factExtractionEvery: 2, userSummaryEvery: 3 }
    const { deps, close } = await open({
      ...OFFLINE,
      automatic,
      redact: 'facts',
      detectors,
      extractor: { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: undefined, model: 'far-away' },
    })
    const {
      factServices: { extractor, judge, profileWriter },
    } = deps
    expect([extractor, judge!, profileWriter!].map(({ name }) => name)).toEqual(Array(3).fill('openai:far-away'))
    expect(deps).toMatchObject({ redaction: { least: 'facts' }, detectors, automatic })
    await close()
    await expect(judge!.judge([])).rejects.toThrow('closed')
  })
})
