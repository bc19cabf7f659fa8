"""Simulated recordings with one planted fault each, and the judge of what `npu_layout.validate` says about them."""
