"""Answers that the policy samples while it is trained, with their rewards: committed before anything is learned."""
