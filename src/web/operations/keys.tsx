// The API keys of the tenant: list, create, rotate, revoke.

import { useState } from 'react'
import { FormDialog } from '../kit/form-dialog.tsx'
import { Menu } from '../kit/menu.tsx'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { More, usePages } from '../kit/pages.tsx'
import { call } from '../kit/result.ts'
import { dateOf, whenOf } from '../kit/text.ts'
import { Needs, rightName } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { CreateKey, NewSecret, RotateKey } from './key-forms.tsx'
import { READ_KEYS, REVOKE_KEY, type ApiKey, type NewToken } from './requests.ts'
import { keyState } from './words.ts'

/** What the person does with a key. */
type Task = { kind: 'create' } | { kind: 'rotate' | 'revoke'; key: ApiKey }

const When = ({ at }: { at: string }) => (
  <time dateTime={at} title={dateOf(at)}>
    {whenOf(at)}
  </time>
)

function KeyItem({ apiKey, onTask }: { apiKey: ApiKey; onTask(task: Task): void }) {
  const { id, name, actor, kind, rights, conversationIds, createdAt, expiresAt, lastUsedAt, revokedAt } = apiKey
  const [words, tone] = keyState(apiKey)
  return (
    <li className="card">
      <div className="bar">
        <p className="line">
          <strong dir="auto">{name}</strong> <span className={`chip ${tone}`}>{words}</span>
        </p>
        {revokedAt === null && (
          <Menu
            label={`Actions for the key ${name}`}
            items={[
              { label: 'Rotate …', onSelect: () => onTask({ kind: 'rotate', key: apiKey }) },
              { label: 'Revoke …', onSelect: () => onTask({ kind: 'revoke', key: apiKey }), isDangerous: true },
            ]}
          >
            ⋯
          </Menu>
        )}
      </div>
      <dl className="facts">
        <dt>Actor</dt>
        <dd>
          <span dir="auto">{actor}</span>, {kind.toLowerCase()}
        </dd>
        <dt>Rights</dt>
        <dd>{rights.map(rightName).join(', ')}</dd>
        <dt>Conversations</dt>
        <dd>{conversationIds === null ? 'all that the actor sees' : `only ${conversationIds.join(', ')}`}</dd>
        <dt>Created</dt>
        <dd>
          <When at={createdAt} />
        </dd>
        <dt>Expires</dt>
        <dd>{expiresAt === null ? 'never' : <When at={expiresAt} />}</dd>
        <dt>Last used</dt>
        <dd>{lastUsedAt === null ? 'never' : <When at={lastUsedAt} />}</dd>
        <dt>Id</dt>
        <dd>
          <code>{id}</code>
        </dd>
      </dl>
    </li>
  )
}

function RevokeKey({ apiKey, onDone, onClose }: { apiKey: ApiKey; onDone(): void; onClose(): void }) {
  const { client } = useSession()
  async function revoke(): Promise<void> {
    await call(client, { document: REVOKE_KEY, input: { id: apiKey.id } })
    onDone()
  }
  return (
    <FormDialog title="Revoke this key?" verb="Revoke the key" act={revoke} onClose={onClose} isDangerous>
      <p>
        The key <strong dir="auto">{apiKey.name}</strong> of <strong dir="auto">{apiKey.actor}</strong> will be refused
        for good, and its open connections end within 5 seconds. If you entered with this key, you have to enter again.
      </p>
    </FormDialog>
  )
}

function KeyList() {
  const { client, isAuthenticated } = useSession()
  const [task, setTask] = useState<Task | null>(null)
  const [made, setMade] = useState<NewToken | null>(null)
  const list = usePages<ApiKey>(
    async (page, signal) => (await client.request(READ_KEYS, page, { signal })).apiKeys,
    'keys',
  )
  const close = () => setTask(null)
  const onMade = (token: NewToken) => {
    setMade(token)
    list.reload()
  }
  return (
    <div className="stack">
      {!isAuthenticated && (
        <Notice>
          This server does not authenticate anybody: any client acts as any actor. Keys name the actor and the rights of
          a client, and are checked once the server runs with <code>AUTH_MODE=keys</code> or <code>jwt</code>. You can
          create them before.
        </Notice>
      )}
      <div className="row">
        <h3>API keys</h3>
        <button type="button" className="primary" onClick={() => setTask({ kind: 'create' })}>
          Create a key
        </button>
      </div>
      <Failure error={list.error} onRetry={list.reload} />
      {list.items === null && !list.error && <Empty>Loading …</Empty>}
      {list.items?.length === 0 && <Empty>This tenant has no keys.</Empty>}
      <ul className="plain stack" aria-label="Keys, newest first">
        {list.items?.map((apiKey) => (
          <KeyItem key={apiKey.id} apiKey={apiKey} onTask={setTask} />
        ))}
      </ul>
      <More more={list.more} isLoading={list.isLoadingMore} />
      {task?.kind === 'create' && <CreateKey onMade={onMade} onClose={close} />}
      {task?.kind === 'rotate' && <RotateKey apiKey={task.key} onMade={onMade} onClose={close} />}
      {task?.kind === 'revoke' && <RevokeKey apiKey={task.key} onDone={list.reload} onClose={close} />}
      {/* Only after the form is closed, so that the focus returns to what opened the form. */}
      {made && !task && <NewSecret made={made} onClose={() => setMade(null)} />}
    </div>
  )
}

export const Keys = () => (
  <Needs right="OPERATE" purpose="see and administer API keys">
    <KeyList />
  </Needs>
)
