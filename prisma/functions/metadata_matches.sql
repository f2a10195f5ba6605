-- Whether the metadata meets all conditions, which src/domain/kernel/metadata-filter.ts writes. Null metadata is an empty object.
-- A condition has a path, its operator and operand, and `parents`: an object that has an object at each key of the path
-- but the last. Only metadata that contains `parents` has a value at the path, because #> alone would also select
-- elements of arrays. The low COST keeps the plans of statements that pass no conditions.
CREATE OR REPLACE FUNCTION metadata_matches(p_metadata jsonb, p_conditions jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1 AS $$
DECLARE
  v_metadata jsonb := coalesce(p_metadata, '{}');
  v_condition jsonb;
  v_operand jsonb;
  v_value jsonb;
  v_meets boolean;
BEGIN
  FOR v_condition IN SELECT jsonb_array_elements(p_conditions) LOOP
    v_operand := v_condition -> 'operand';
    v_value := CASE WHEN v_metadata @> (v_condition -> 'parents')
                    THEN v_metadata #> ARRAY(SELECT jsonb_array_elements_text(v_condition -> 'path')) END;
    v_meets := CASE v_condition ->> 'operator'
      WHEN 'equals' THEN v_value = v_operand
      WHEN 'contains' THEN v_value @> v_operand
      WHEN 'exists' THEN (v_value IS NOT NULL) = v_operand::boolean
      WHEN 'in' THEN v_value IN (SELECT jsonb_array_elements(v_operand))
      WHEN 'range' THEN CASE
        WHEN jsonb_typeof(v_value) IS DISTINCT FROM v_condition ->> 'type' THEN false
        WHEN v_condition ->> 'type' = 'number' THEN
          coalesce(v_value > (v_operand -> 'gt'), true) AND coalesce(v_value >= (v_operand -> 'gte'), true)
          AND coalesce(v_value < (v_operand -> 'lt'), true) AND coalesce(v_value <= (v_operand -> 'lte'), true)
        ELSE
          coalesce((v_value #>> '{}') COLLATE "C" > (v_operand ->> 'gt'), true)
          AND coalesce((v_value #>> '{}') COLLATE "C" >= (v_operand ->> 'gte'), true)
          AND coalesce((v_value #>> '{}') COLLATE "C" < (v_operand ->> 'lt'), true)
          AND coalesce((v_value #>> '{}') COLLATE "C" <= (v_operand ->> 'lte'), true)
      END
    END;
    IF v_meets IS NOT TRUE THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END
$$;
