"""Which head outputs can be, and what cannot be told apart.

Of the wing, it imports other_answers, outputs, zoo and heads.
"""
