"""What else than the declared output the device may have computed: other endings, moved maps, other frames.

Of the other parts, it imports stored and scoring.
"""
