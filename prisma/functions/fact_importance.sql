-- How important a fact is, 0 to 1: how often it was stated (0.4), on how many days before today it was recalled (0.3), and
-- how many days ago it was stated (0.3, halved every 90 days). The sources of the facts that it replaces as their duplicate
-- count, too. Days are those of UTC: unless sources are added, the value changes only at midnight. The ids are an array,
-- because OR with a subquery would read every source of the tenant.
CREATE OR REPLACE FUNCTION fact_importance(
  p_id text, p_recall_days integer, p_recalled_on date, p_observed_at timestamptz
) RETURNS double precision LANGUAGE sql STABLE AS $$
  SELECT 0.4 * (1 - 1.0 / greatest(1, (
           SELECT count(DISTINCT s.source) FROM fact_source s
           WHERE s.fact_id = ANY (ARRAY(
             SELECT p_id UNION ALL
             SELECT d.id FROM superseded_fact s JOIN fact d ON d.id = s.id
             WHERE s.superseded_by = p_id AND d.superseded_by = p_id AND d.supersede_reason = 'DUPLICATED')))))
       + 0.3 * (1 - 1.0 / (1 + p_recall_days - (p_recalled_on IS NOT DISTINCT FROM now()::date)::integer))
       + 0.3 * power(0.5, greatest(0, now()::date - p_observed_at::date) / 90.0)
$$;
