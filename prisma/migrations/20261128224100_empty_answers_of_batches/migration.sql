-- Answers without text. The result of a batch has a warning that counts them.
alter table inference_batches add column empty_count integer not null default 0;
