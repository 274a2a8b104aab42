"""Settings of runs that take no time."""

QUICK = {"protocol": {"steps": 4, "batch": 4, "record_every": 2}, "evaluation": {"sequences": 8}, "test_length": 12}
