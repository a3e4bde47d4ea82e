"""All bugs that can be planted."""

from planted import engine, namespaces, primitives

MUTANTS = (*primitives.MUTANTS, *engine.MUTANTS, *namespaces.MUTANTS)
