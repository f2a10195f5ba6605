// Bugs that database triggers plant, to show that a run on a real server finds them. Each bug affects all rows, or a
// part of the rows that a hash selects.

/** Returns the SQL of a trigger that runs the body for one in `every` rows of the table. */
const trigger = (table: string, event: 'INSERT' | 'UPDATE', every: number, key: string, body: string) => `
  CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF hashtext(NEW.${key}::text) % ${every} = 0 THEN ${body} END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER planted BEFORE ${event} ON ${table} FOR EACH ROW EXECUTE FUNCTION planted();`

export const PLANTS = {
  'a retry is not recognised': trigger('turn', 'INSERT', 1, 'id', 'NEW.client_id := NULL;'),
  'a turn is stored with another text': trigger('turn', 'INSERT', 5, 'id', 'NEW.text := upper(NEW.text);'),
  'a turn is stored without its audience': trigger('turn', 'INSERT', 1, 'id', 'NEW.audience := NULL;'),
  'an entry is not written': trigger('entry', 'INSERT', 5, 'turn_id', 'RETURN NULL;'),
  'a delta is acknowledged but not stored': trigger('chunk', 'INSERT', 5, 'text', "NEW.text := '';"),
  'a committed turn is marked as aborted': trigger(
    'turn',
    'UPDATE',
    2,
    'id',
    "IF NEW.status = 'COMMITTED' THEN NEW.status := 'ABORTED'; END IF;",
  ),
}
