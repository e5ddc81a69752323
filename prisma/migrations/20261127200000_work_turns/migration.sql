-- Turns of durable work: granted in its row, where they were counted when the outbox delivered its start.
alter table inference_batches add column evaluation_id uuid, add column granted_at timestamptz(6);
alter table model_evaluations add column granted_at timestamptz(6);
alter table model_exports add column granted_at timestamptz(6);

update inference_batches batch set evaluation_id = evaluation.id
from model_evaluations evaluation
cross join json_array_elements_text((evaluation.plan #>> '{}')::json->'batchIds') of_model (batch_id)
where evaluation.finished_at is null and evaluation.plan is not null and batch.id = of_model.batch_id::uuid;

-- Open work whose start was delivered, or which its evaluation starts, has had its turn.
update inference_batches set granted_at = now() where finished_at is null and not exists (
  select from outbox_messages where kind = 'start-batch' and delivered_at is null and payload->>'batchId' = inference_batches.id::text);
update model_evaluations set granted_at = now() where finished_at is null and not exists (
  select from outbox_messages where kind = 'start-evaluation' and delivered_at is null and payload->>'evaluationId' = model_evaluations.id::text);
update model_exports set granted_at = now() where finished_at is null and not exists (
  select from outbox_messages where kind = 'start-export' and delivered_at is null and payload->>'exportId' = model_exports.id::text);

-- The work scheduler starts what waits.
delete from outbox_messages where kind in ('start-batch', 'start-evaluation', 'start-export') and delivered_at is null;
update outbox_messages set kind = 'cancel-work', payload = jsonb_build_object('kind', 'evaluation', 'id', payload->>'evaluationId')
where kind = 'cancel-evaluation' and delivered_at is null;
