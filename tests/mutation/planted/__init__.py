"""All bugs that can be planted."""

from planted import array_library, engine, fourier, namespaces, networks, primitives, rare, redesign

MUTANTS = (
    *array_library.MUTANTS,
    *primitives.MUTANTS,
    *engine.MUTANTS,
    *fourier.MUTANTS,
    *namespaces.MUTANTS,
    *networks.MUTANTS,
    *rare.MUTANTS,
    *redesign.MUTANTS,
)
