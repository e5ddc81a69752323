"""The engine: a batch of rows of many requests and several adapters, one token a step; rows join and leave freely."""
