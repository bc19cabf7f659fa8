"""Which cause is named for an output, what speaks against it, and the sentences that say so.

Of the other parts, it imports computed, stored, scoring and other_inputs.
"""
