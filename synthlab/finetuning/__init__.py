"""Options of fine-tuning: sparse attention, and low-rank adapters on a 4-bit base."""
