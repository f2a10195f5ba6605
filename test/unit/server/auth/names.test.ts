// The tenant and actor names that the client of a request or a WebSocket sends.

import { describe, expect, test } from 'vitest'
import { InvalidInput } from '../../../../src/errors.ts'
import { lowerCaseKeys, namesOfConnection, namesOfRequest } from '../../../../src/server/auth/names.ts'

const ofConnection = (parameters: Record<string, unknown>, headers: Record<string, string>) =>
  namesOfConnection(lowerCaseKeys(parameters), headers)
const header = (actor: string) => namesOfRequest({ 'x-actor': actor }).actor
const parameter = (actor: unknown) => ofConnection({ 'x-actor': actor }, {}).actor

describe('a name', () => {
  test('is null if the client does not send it, or sends an empty string', () => {
    const noNames = { tenant: null, actor: null }
    expect(namesOfRequest({})).toEqual(noNames)
    expect(namesOfRequest({ 'x-actor': '' })).toEqual(noNames)
    expect(ofConnection({ 'x-actor': '', 'x-tenant': null }, {})).toEqual(noNames)
  })

  test('is read from the headers', () => {
    expect(namesOfRequest({ 'x-tenant': 'acme', 'x-actor': 'ada' })).toEqual({ tenant: 'acme', actor: 'ada' })
  })

  test('of a WebSocket is read from connectionParams, or from the headers if connectionParams lack it', () => {
    const headers = { 'x-tenant': 'acme', 'x-actor': 'Zo\xeb' }
    expect(ofConnection({ 'X-Actor': 'ada' }, headers)).toEqual({ tenant: 'acme', actor: 'ada' })
    expect(ofConnection({}, { 'x-actor': 'Zo%C3%AB' })).toEqual({ tenant: null, actor: 'Zoë' })
    expect(() => ofConnection({}, headers)).toThrow(/^x-actor: .*percent-encode/)
  })

  test.each([
    ['ada', 'ada'],
    ['Zo%C3%AB', 'Zoë'],
    ['%E6%9D%8E', '李'],
    ['%F0%9F%97%BC Tower', '🗼 Tower'],
    ['100%25', '100%'],
    ['a+b', 'a+b'],
  ])('sent as %s is decoded as %s, in a header and in connectionParams', (sent, actor) => {
    expect(header(sent)).toBe(actor)
    expect(parameter(sent)).toBe(actor)
  })

  test.each(['Zoë', '李', '🗼 %25'])('may be sent as %s in connectionParams', (actor) => {
    expect(parameter(actor)).toBe(decodeURIComponent(actor))
  })

  test.each([
    ['Latin-1 bytes', 'Zo\xeb', /^x-actor: has characters other than ASCII: percent-encode the name as UTF-8/],
    ['UTF-8 bytes', Buffer.from('Zoë').toString('latin1'), /percent-encode the name as UTF-8/],
    ['a percent sign that encodes nothing', '100%', /"%" as "%25"/],
    ['encoded bytes that are not UTF-8', 'Zo%EB', /not valid percent-encoded UTF-8/],
    ['encoded text that Postgres cannot store', 'a%00b', /U\+0000/],
    ['too many characters', '%C3%AB'.repeat(201), /at most 200/],
  ])('is rejected in a header if it has %s', (_, actor, message) => {
    expect(() => header(actor)).toThrow(message)
    expect(() => header(actor)).toThrow(InvalidInput)
  })

  test.each([
    ['too long', 'x'.repeat(201)],
    ['not a string', 7],
    ['text that Postgres cannot store', 'a\0b'],
    ['half of a surrogate pair', '\ud800'],
    ['not percent-encoded UTF-8', '100%'],
  ])('is rejected in connectionParams if it is %s', (_, actor) => {
    expect(() => parameter(actor)).toThrow(InvalidInput)
  })
})
