"""Support for libraries that must register weft: import the module with the library's name.

Other libraries need no import. `docs/how_it_works/9_neighbours.md` describes how each library
recognizes weft.
"""
