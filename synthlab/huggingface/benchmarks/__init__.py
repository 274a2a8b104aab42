"""The tasks of EleutherAI's harness on a model: LongBench-E, BABILong, RULER and all others."""
