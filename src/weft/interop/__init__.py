"""weft for libraries that have to be told of it: import the module that has the library's name.

The others need nothing. `docs/how_it_works/9_neighbours.md`, says which library finds weft by what.
"""
