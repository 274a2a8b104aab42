"""Settings of runs that take no time."""

QUICK = {"protocol": {"steps": 4, "batch": 4, "record_every": 2}, "evaluation": {"sequences": 8}, "test_length": 12}
# Overrides under which the loss is soon not finite.
EXPLOSIVE = ("protocol.optimizer=sgd", "protocol.lr=1e30", "protocol.steps=30", "model.norm=none")
