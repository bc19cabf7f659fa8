"""Whether a recorded input is what was declared, and what a runtime does to its inputs.

Of the other parts, it imports verdicts, computed, scoring and other_inputs.
"""
