"""Which head outputs can be, and what cannot be told apart.

Of the other parts, it imports other_answers, outputs, zoo and heads.
"""
