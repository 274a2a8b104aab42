"""What a second training may do otherwise than the first: sparse attention, adapters of low rank on a 4-bit base."""
