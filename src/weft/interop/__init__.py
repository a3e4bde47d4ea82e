"""Support for libraries that must register weft: import the module with the library's name.

The others need nothing. `docs/how_it_works/9_neighbours.md`, says which library finds weft by what.
"""
