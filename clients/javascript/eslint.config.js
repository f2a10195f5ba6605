// The rules of graphql-eslint for schema.graphql and for the documents of the programs. Each exception has its reason.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import graphql from '@graphql-eslint/eslint-plugin'
import { buildSchema, Kind, parse, print } from 'graphql'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const file = path('../../schema.graphql')
const schema = buildSchema(readFileSync(file, 'utf8'))
const typesOf = (name) => schema.getPossibleTypes(schema.getType(name)).map((type) => type.name)

const { 'flat/schema-recommended': recommended, 'flat/schema-relay': relay } = graphql.configs
const { 'flat/operations-recommended': operations } = graphql.configs

/** Types without an id: no query reads them alone, so a cache keeps them within the object that contains them. */
const WITHOUT_ID = {
  suffixes: [
    'Payload', // the result of one call
    'Connection', // a page
    'Edge', // an item of a page, with its cursor
  ],
  types: [
    ...typesOf('UserError'), // a failure of one call
    ...typesOf('ConversationEvent'), // identified by the conversation and `seq`; ephemeral events by nothing
    ...typesOf('ContentPart'), // a part of one turn version, which never changes
    ...['Context', 'ContextItem', 'ContextMessage'], // computed for one call
    ...['Recall', 'RecallHit', 'RecallPlan'], // computed for one call
    ...['EmbeddingProgress', 'MemoryAudit'], // a measurement
    'AuditLine', // numbered within its tenant, and never changes
    'AuditVerification', // the result of one call
    'AgentSettings', // a part of one participant
    'Citation', // a part of one turn version
    'CallDefaults', // a part of TenantSettings
    'Claim', // a part of the result, the event or the wake-up that contains it
    'CompactionPolicy', // a part of its conversation
    'ErasureReceipt', // the result of one call
    'FactSource', // a part of its fact
    'InboxEvent', // delivered once, and not stored
    'InputIssue', // a part of InvalidInput
    'PageInfo', // a part of its page
    'PendingAnswer', // a part of its conversation
    'ProviderCall', // a part of its run
    'RunError', // a part of its run
    'Provider', // identified by its name, and configured by the operator
    'TenantSettings', // one per tenant, always read as a whole
    'TokenUsage', // a part of one turn version
    'ToolDefinition', // a part of the settings of one participant
    'WakeUp', // read in its list only, and removed once it is answered
  ],
}

/** Lines of the schema that break a rule, with the rule and the reason. An exception that is not needed is an error. */
const EXCEPTIONS = {
  'type AuditLineEdge {': '@graphql-eslint/relay-edge-types -- A line is read in its list only, and has no id.',
  '  wakeUps(':
    '@graphql-eslint/relay-arguments -- Wake-ups are answered from the oldest on, so pages go forward only.',
  'type WakeUpEdge {': '@graphql-eslint/relay-edge-types -- A wake-up is read in its list only, and has no id.',
  'type FactSourceEdge {': '@graphql-eslint/relay-edge-types -- A source is a part of its fact, and has no id.',
}

/** Marks the exceptions in the text, because the printed schema contains no comments. */
const withExceptions = {
  preprocess: (text) => [
    Object.entries(EXCEPTIONS).reduce(
      (all, [line, why]) => all.replace(line, `${line} # eslint-disable-line ${why}`),
      text,
    ),
  ],
  postprocess: ([messages]) => messages,
}

/** Stands in for a parser of TypeScript: the processor extracts the documents; oxlint checks the rest. */
const emptyProgram = {
  parse: () => ({
    type: 'Program',
    sourceType: 'module',
    body: [],
    tokens: [],
    comments: [],
    range: [0, 0],
    loc: { start: { line: 1, column: 0 }, end: { line: 1, column: 0 } },
  }),
}

/** Relay's own directives; the rest of its extensions are not valid in a schema. */
const directivesOfRelay = print({
  kind: Kind.DOCUMENT,
  definitions: parse(
    readFileSync(path('node_modules/relay-compiler/relay-extensions.graphql'), 'utf8'),
  ).definitions.filter(
    ({ kind, name }) =>
      kind === Kind.DIRECTIVE_DEFINITION && ['alias', 'appendEdge', 'connection', 'refetchable'].includes(name.value),
  ),
})

/** The plugin reads the first parser's options only, so they name the schema and the documents of each program. */
const parserOptions = {
  graphQLConfig: {
    projects: {
      schema: { schema: file, include: 'schema.graphql' },
      apollo: { schema: file, include: 'clients/javascript/apollo/**', documents: path('apollo/*.ts') },
      urql: { schema: file, include: 'clients/javascript/urql/**', documents: path('urql/*.ts') },
      relay: {
        schema: [file, directivesOfRelay],
        include: 'clients/javascript/relay/**',
        documents: path('relay/*.ts'),
      },
    },
  },
}

/** Checks the documents of one program. */
const documentsOf = (folder, rules = {}) => [
  {
    files: [`clients/javascript/${folder}/*.ts`],
    languageOptions: { parser: emptyProgram },
    processor: graphql.processor,
  },
  {
    files: [`clients/javascript/${folder}/**/*.graphql`],
    languageOptions: { parser: graphql.parser, parserOptions },
    plugins: { '@graphql-eslint': graphql },
    rules: { ...operations.rules, ...rules },
  },
]

export default [
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['schema.graphql'],
    processor: withExceptions,
    languageOptions: { parser: graphql.parser, parserOptions },
    plugins: { '@graphql-eslint': graphql },
    rules: {
      ...recommended.rules,
      ...relay.rules,
      '@graphql-eslint/strict-id-in-types': ['error', { exceptions: WITHOUT_ID }],
      // Relay's specification does not require it: lists such as `nodes`, payloads and parts have no pages.
      '@graphql-eslint/relay-edge-types': ['error', { listTypeCanWrapOnlyEdgeType: false }],
    },
  },
  ...documentsOf('apollo'),
  ...documentsOf('urql'),
  ...documentsOf('relay', {
    // relay-compiler requires names that begin with the file's and end in Query, Mutation or Subscription.
    '@graphql-eslint/naming-convention': 'off',
  }),
]
