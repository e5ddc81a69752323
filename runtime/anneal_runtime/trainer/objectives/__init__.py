"""What a run minimises: one file for each objective. The loop, microbatches, ranks and checkpoints know no method."""
