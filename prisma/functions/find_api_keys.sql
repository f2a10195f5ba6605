-- Finds API keys by their ids and the hashes of their secrets, before the tenant of a request is known. Called by
-- src/store/sql/trust/api-key/find-api-keys.ts.
--
-- p_ids     ids of keys
-- p_hashes  SHA-256 of the secret that was presented with each id
--
-- Runs as its owner, colloquy_system, so that it sees the keys of all tenants. Returns only keys whose secret the caller
-- has, with the place in p_ids from 0, and no hash. expires_at is that of the secret: the previous secret of a rotated
-- key ends with the overlap, or with the key, whichever is earlier. The time of the comparison reveals nothing, because
-- a client cannot choose the hash of a secret.
CREATE OR REPLACE FUNCTION find_api_keys(p_ids text[], p_hashes bytea[])
RETURNS TABLE (place integer, id text, tenant text, actor text, kind text, rights text[], conversations text[],
               expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT (x.o - 1)::integer, k.id, k.tenant, k.actor, k.kind::text, k.rights, k.conversations,
         CASE WHEN k.secret_hash = x.hash THEN k.expires_at ELSE least(k.expires_at, k.previous_until) END, k.revoked_at,
         k.last_used_at
  FROM unnest(p_ids, p_hashes) WITH ORDINALITY AS x(id, hash, o)
  JOIN api_key k ON k.id = x.id AND (k.secret_hash = x.hash OR k.previous_hash = x.hash)
$$;
