-- Reserves tokens of the day's quotas for the next provider call of a run. Called by src/store/sql/agent/run/token-usage.ts.
-- Calls of one tenant run one after the other, so that processes do not reserve the same tokens twice. The end of the
-- call (src/store/sql/agent/run/provider-calls.ts) or of the run releases the tokens. Uses the index run_reserved.
--
-- p_holder    holder of the run
-- p_tokens    maximum number of tokens that the call is expected to take
-- p_lease_ms  length of a run's lease; a reservation counts until two leases after its run's lease or end
--
-- The tokens are reserved if, for the participant and for the tenant, those that were used today and those that calls
-- in progress have reserved are fewer than the limit. Without a limit, none are reserved. No row if the process no
-- longer has the lease of the run. A limit is null for no quota.
CREATE OR REPLACE FUNCTION reserve_tokens(p_run text, p_holder text, p_tokens integer, p_lease_ms integer)
RETURNS TABLE (
  begins boolean, participant_limit integer, participant_used bigint, participant_reserved bigint,
  tenant_limit integer, tenant_used bigint, tenant_reserved bigint, resets_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
  v_run record;
  v_day date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
  SELECT r.tenant, r.conversation_id, r.actor INTO v_run
  FROM run r WHERE r.id = p_run AND r.holder = p_holder AND r.state = 'RUNNING';
  IF NOT FOUND THEN RETURN; END IF;
  participant_limit := (SELECT (p.agent->>'tokensPerDay')::integer FROM participant p
                        WHERE p.conversation_id = v_run.conversation_id AND p.actor = v_run.actor);
  tenant_limit := (SELECT s.tokens_per_day FROM tenant_settings s WHERE s.tenant = v_run.tenant);
  resets_at := (v_day + 1)::timestamp AT TIME ZONE 'UTC';
  begins := true;
  participant_used := 0; participant_reserved := 0; tenant_used := 0; tenant_reserved := 0;
  IF participant_limit IS NULL AND tenant_limit IS NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('colloquy token quotas'), hashtext(v_run.tenant));
  -- Each statement sees what was committed before it, so these sums include the reservations of earlier lock holders.
  SELECT coalesce(sum(r.reserved_tokens) FILTER (WHERE r.conversation_id = v_run.conversation_id AND r.actor = v_run.actor), 0),
         coalesce(sum(r.reserved_tokens), 0)
  INTO participant_reserved, tenant_reserved
  FROM run r
  WHERE r.tenant = v_run.tenant AND r.reserved_tokens IS NOT NULL AND r.id <> p_run
    AND coalesce(r.lease_until, r.ended_at) > now() - 2 * make_interval(secs => p_lease_ms / 1000.0);
  participant_used := coalesce((SELECT u.prompt_tokens + u.completion_tokens FROM token_usage u
    WHERE u.conversation_id = v_run.conversation_id AND u.actor = v_run.actor AND u.day = v_day), 0);
  tenant_used := coalesce((SELECT u.prompt_tokens + u.completion_tokens FROM tenant_usage u
    WHERE u.tenant = v_run.tenant AND u.day = v_day), 0);
  begins := coalesce(participant_used + participant_reserved < participant_limit, true)
    AND coalesce(tenant_used + tenant_reserved < tenant_limit, true);
  IF begins THEN
    UPDATE run r SET reserved_tokens = p_tokens WHERE r.id = p_run;
  END IF;
  RETURN NEXT;
END $$;
