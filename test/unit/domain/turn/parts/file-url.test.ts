// A file part rejects URLs that are relative, too long, or could run a script when a client opens them.

import { describe, expect, it } from 'vitest'
import { fileUrl, MAX_URL } from '../../../../../src/domain/turn/parts/file-url.ts'

describe('the URL of a file', () => {
  it.each([
    'https://a.example/b.png?c#d',
    'HTTP://a.example/',
    'data:image/png;base64,iVBORw0KGgo=',
    'data:application/pdf;base64,JVBERi0=',
    's3://bucket/key',
    'gs://bucket/key',
    'urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66',
    'x-app:attachment/7',
    'web+notes://n/1',
  ])('may be %s', (url) => expect(fileUrl.safeParse(url).success).toBe(true))

  it.each([
    ['javascript:alert(1)', /scheme "javascript"; allowed are http, https/],
    ['JavaScript:alert(1)', /scheme "javascript"/],
    ['javascript://a.example/%0aalert(1)', /scheme "javascript"/],
    ['java\nscript:alert(1)', /white space or control/],
    [' javascript:alert(1)', /white space or control/],
    ['\u0001javascript:alert(1)', /white space or control/],
    ['vbscript:x', /scheme "vbscript"/],
    ['file:///etc/passwd', /scheme "file"/],
    ['blob:https://a.example/1', /scheme "blob"/],
    ['intent://x', /scheme "intent"/],
    ['data:text/html,<script>alert(1)</script>', /HTML, XML or SVG/],
    ['data:image/svg+xml;base64,PHN2Zz4=', /SVG/],
    ['/uploads/a.png', /absolute URL/],
    ['//a.example/b.png', /absolute URL/],
    ['https:', /absolute URL/],
    ['', /./],
    [`https://a.example/${'x'.repeat(MAX_URL)}`, /at most 8192 characters/],
  ])('must not be %j', (url, problem) => {
    expect(fileUrl.safeParse(url).error?.issues[0]!.message).toMatch(problem)
  })
})
