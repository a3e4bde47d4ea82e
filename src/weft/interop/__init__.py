"""weft for libraries that have to be told of it: import the module that has the library's name.

The others need nothing. `docs/design.md`, "Neighbours", says which library finds weft by what.
"""
