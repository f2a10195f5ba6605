// The name under which a conversation is shown.

export const titleOf = ({ title, key }: { title: string | null; key: string | null }): string =>
  title ?? key ?? 'Untitled conversation'
