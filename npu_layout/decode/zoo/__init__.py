"""The heads of networks: a function for each, which fills the rows of a record.

Of the other parts, it imports heads.
"""
