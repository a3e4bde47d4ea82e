"""All bugs that can be planted."""

from planted import engine, namespaces, primitives, rare, redesign

MUTANTS = (
    *primitives.MUTANTS,
    *engine.MUTANTS,
    *namespaces.MUTANTS,
    *rare.MUTANTS,
    *redesign.MUTANTS,
)
