// The labelled set that redaction is measured on: sentences in which ‹kind:text› marks what must go. All is made up:
// numbers are of the networks' and regulators' own examples, addresses of the blocks that are kept for documentation.

const key = (prefix: string, rest: string) => `‹secret:${prefix}${rest}›`

export const LABELLED: string[] = [
  'Write to ‹email:ada@example.org› please.',
  'My address is ‹email:ada.lovelace+notes@mail.example.co.uk›.',
  'cc ‹email:bob_99@sub.example.com›, ‹email:eve@example.net›; thanks',
  '<‹email:ada@example.org›> wrote:',
  'Ihre Adresse ist ‹email:jürgen@münchen.example›',
  'mailto:‹email:help@example.travel›?subject=hi',
  "It's (‹email:o'brien@example.ie›).",
  'Send it to "‹email:x@y.io›"!',
  'My card is ‹card:4111 1111 1111 1111›, valid until 12/27.',
  'Charge ‹card:5555555555554444›.',
  'Amex: ‹card:3782 822463 10005›',
  'use ‹card:6011-1111-1111-1117› instead',
  'Diners ‹card:30569309025904› works, too',
  'JCB ‹card:3530111333300000›',
  'Pay to ‹iban:DE89 3704 0044 0532 0130 00› by Friday.',
  'IBAN ‹iban:GB82WEST12345698765432›',
  'iban: ‹iban:fr14 2004 1010 0505 0001 3m02 606›.',
  'My account is ‹iban:NL91ABNA0417164300›, thanks',
  'Send to ‹iban:CH93 0076 2011 6238 5295 7› please',
  'Call ‹phone:+1 415-555-0132› now.',
  'Call me at ‹phone:(415) 555-0132› or ‹phone:415-555-0199›.',
  'My number is ‹phone:+44 20 7946 0958›.',
  'Tel. ‹phone:030 901820›',
  'Büro: ‹phone:+49 (0)30 901820-17›',
  'Mobil ‹phone:0151 23456789›',
  'text me: ‹phone:4155550132›',
  'reach me on ‹phone:+33612345678›',
  'My phone number is ‹phone:555-0132›.',
  'whatsapp ‹phone:+91 98765 43210› works best',
  'The server is ‹ip:192.0.2.17›.',
  'ssh root@‹ip:198.51.100.4› then wait',
  'Ping ‹ip:2001:db8::8a2e:370:7334› first',
  'It listens on [‹ip:2001:db8:85a3:0:0:8a2e:370:7334›]:8080',
  'http://‹ip:203.0.113.9›:8080/path',
  'localhost is ‹ip:127.0.0.1›, or ‹ip:::1› for short',
  `The key is ${key('sk-', 'abcdefghijklmnop1234567890ABCD')}.`,
  `OPENAI_API_KEY=${key('sk-proj-', 'Ab3dEf6hIj9kLm2nOp5qRs8tUv')}`,
  `I use ${key('ghp_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8')} for git`,
  `aws ${key('AKIA', 'IOSFODNN7EXAMPLE')} is the id`,
  `slack: ${key('xoxb-', '123456789012-abcdefGHIJKL')}`,
  `stripe ${key('sk_test_', '4eC39HqLyjWDarjtT1zdp7dc')}`,
  `maps ${key('AIza', 'SyA1234567890abcdefghijklmnopqrstuv')}`,
  `Authorization: Bearer ${key('eyJhbGciOiJIUzI1NiJ9', '.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N')}`,
  `hub token ${key('hf_', 'abcdefghijklmnopqrstuvwxyzABCD')}`,
  'My password is ‹secret:hunter2!›.',
  'password: ‹secret:correcthorse›',
  'the wifi password is ‹secret:Tr0ub4dor›, all lower case',
  '{"api_key": "‹secret:9f8e7d6c5b4a›"}',
  "client_secret='‹secret:zQ8~something›'",
  'passcode: ‹secret:493021›',
  'postgres://ada:‹secret:s3cr3t-pw›@db.example.org/app',
  'It said ‹secret:q7Zk2VbXw9TnLr4MpYs8DfGh1JcE› and nothing else',
  '‹secret:-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA75\n-----END RSA PRIVATE KEY-----›',
  'token=‹secret:abcd1234efgh5678›',
  // Nothing in these.
  'We met at 10:30 on 2023-05-08, for 2 hours.', 'Version 1.2.3.4 is out.', 'upgrade to 10.0.0.1',
  'The order 4111111111111112 was shipped.', 'It costs 1,234,567 dollars.', 'It costs $12 345 678.',
  'Ticket 1234567890 is closed.', 'The commit is 9fceb02d0ae598e95dc970b74767f19372d61af8.',
  'The id is 123e4567-e89b-12d3-a456-426614174000.', 'turn_01HZX3V9J8Q2W4E6R8T0Y2U4I6 is the turn',
  'Written 3 May 2021, 12-05-2021 and 05/12/2021.', 'At 1700000000 it began.', 'He scored 10-12-8-9-11.',
  'Follow @ada on the network.', 'a@b is no address, nor is foo@bar.', 'Meet me @ 5pm', '@types/node is a package',
  'The password is wrong again.', 'The password was changed yesterday.', 'I forgot my password, help!',
  'Token usage is 4000 tokens.', 'The secret is to stir slowly.', 'The api key was revoked.', 'Bearer of good news',
  'Section 3.1.4.1 says so.', 'std::vector and Foo::Bar::baz', 'The ratio is 16:9:4, at 12:34:56.',
  'Bach: BWV 1007, op. 12 no 3', 'GB82 WEST 1234 5698 7654 33 is mistyped', 'Pi is 3.14159265358979.',
  'ISBN 978-3-16-148410-0', 'Room 404, floor 12, building 7', 'The years 1999-2003 and 2010 2011 2012',
  'InternationalizationOfComponentsAndModules', 'src/domain/fact/redact.ts is the file', 'the 100000000th visitor',
  'Scores: 12 14 16 18 20', 'Numbers 1 2 3 4 5 6 7', 'a_very_long_snake_case_identifier_in_code', '999.999.999.999',
  'We have 1 234 567 inhabitants.', 'from 09:00 to 17:30 daily', 'DE 1234', 'see https://example.org/a/b?c=12345678',
  'sk-learn and sk-image are packages', 'My budget is 1500 a month', 'The model has 7000000000 parameters.',
  // Written after the detectors were, to see what they do unprepared: precision 17/18, recall 17/20 then.
  'Reach me under ‹email:max.m@web.example.de› or ‹phone:0171/2345678›', 'fax ‹phone:+1-212-555-0187›',
  'IP address ‹ip:10.20.30.40› blocked', 'my pin is ‹secret:4471›', 'PIN: ‹secret:9921›',
  'Visa ‹card:4012 8888 8888 1881› exp 09/26', 'ring me on ‹phone:020 7946 0018› tonight', '‹ip:fe80::1›%eth0',
  'Use ‹secret:glpat-AbCdEfGhIjKlMnOpQrSt› for CI', 'export TOKEN=‹secret:deadbeefcafebabe1234›',
  'acct ‹iban:ES91 2100 0418 4502 0005 1332› ok', 'My passport', 'the temperature was 36.6 and 37.2',
  'bus 42 leaves at 12.05', 'chapter 2.3.4.5', 'Lot 20230508-12', 'telephone: ‹phone:555 123 4567›',
  'my email is ‹email:jane_doe@corp.example›, work ‹email:jd@corp.example›', 'His secret: he sings.',
  'I call 3 people in 10 days', 'score 3-2, 4-1', 'tracking 1Z999AA10123456784', 'call 911', 'I call it 12345678',
  'password reset link sent', 'pw: ‹secret:Summer2024›', 'key ‹secret:sk-ant-api03-AbCdEfGhIjKlMnOp› leaked',
  'Basic ‹secret:dXNlcjpwYXNzd29yZDEyMzQ1Njc4OTA=› header', 'population 8 799 800 in 2023',
  'coordinates 52.5200, 13.4050', '+49 30 is the prefix', 'MAC 00:1B:44:11:3A:B7', 'UK: ‹phone:07700 900123›',
  'France ‹phone:06 12 34 56 78›',
]

/** The sentence without its marks, and what was marked. */
export function readLabels(labelled: string): { text: string; marks: { kind: string; start: number; end: number }[] } {
  const marks: { kind: string; start: number; end: number }[] = []
  let text = ''
  for (const piece of labelled.split(/(‹[a-z]+:[^›]*›)/)) {
    const [, kind, content] = /^‹([a-z]+):([^›]*)›$/.exec(piece) ?? []
    if (kind && content) marks.push({ kind, start: text.length, end: text.length + content.length })
    text += content ?? piece
  }
  return { text, marks }
}
