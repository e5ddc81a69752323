-- The GPU time of trainings has a price of its own. Days before this release share their GPU time out by the time of each kind.
alter table usage_days add column training_gpu_seconds double precision not null default 0;
update usage_days set training_gpu_seconds = gpu_seconds * training_seconds / (training_seconds + engine_seconds)
where gpu_seconds > 0 and training_seconds > 0;
