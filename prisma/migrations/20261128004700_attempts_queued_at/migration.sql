-- Slots are granted in this order. Null: in the order of created_at, as older workers write it.
ALTER TABLE attempts ADD COLUMN queued_at timestamptz(6);
