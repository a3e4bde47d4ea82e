"""A probe is aimed at Saturn past Jupiter: gradients through a simulation of the solar system.

`scan` moves Sun, planets and probe by leapfrog for some years. The whole flight is differentiable,
so the launch that meets Saturn is found by Newton's method on the miss, whose Jacobian comes from
`jacfwd`; then the gradient says how exact the launch must be. Positions are in astronomical units,
times in years; orbits are circular and in one plane.

    python examples/orbit.py [--picture orbit.png]
"""

import argparse
from functools import partial
from typing import Any

import numpy as onp
import pictures

import weft.numpy as np
from weft import jacfwd, jit, lax, vmap
from weft.experimental import enable_x64

GRAVITY = 4 * onp.pi**2  # of the Sun: AU³ / year²
MASSES = onp.array([1.0, 3.0e-6, 9.55e-4, 2.86e-4])  # Sun, Earth, Jupiter, Saturn
RADII = onp.array([0.0, 1.0, 5.2, 9.54])
STARTS = onp.array([0.0, 0.0, 1.35, 1.7])  # angles on the circles at launch
SPEED = 4.74047  # km/s in 1 AU / year


def planets() -> tuple[Any, Any]:
    """Positions and velocities [4, 2] at launch."""
    directions = onp.stack([onp.cos(STARTS), onp.sin(STARTS)], axis=1)
    speeds = onp.sqrt(GRAVITY / onp.maximum(RADII, 1e-9)) * (RADII > 0)
    return RADII[:, None] * directions, speeds[:, None] * directions[:, ::-1] * [-1, 1]


def acceleration(positions: Any) -> Any:
    """Of Sun, planets and probe [5, 2]; the probe, which is the last, attracts nobody."""
    apart = positions[None, :-1] - positions[:, None]
    cubes = (np.sum(apart**2, axis=-1) + 1e-9) ** 1.5
    return GRAVITY * np.sum((MASSES / cubes)[:, :, None] * apart, axis=1)


@partial(jit, static_argnums=1)
def flight(launch: Any, steps: int, years: Any) -> Any:
    """Paths [steps, 5, 2], for a probe that leaves Earth's place with a velocity [2] beside its."""
    positions, velocities = planets()
    away = 0.01 * launch / np.linalg.norm(launch)  # beyond Earth's pull
    positions = np.concatenate([positions, positions[1:2] + away])
    velocities = np.concatenate([velocities, velocities[1:2] + launch])
    h = years / steps

    def step(state: tuple[Any, Any], _: None) -> tuple[Any, Any]:
        positions, velocities = state
        velocities = velocities + h / 2 * acceleration(positions)
        positions = positions + h * velocities
        velocities = velocities + h / 2 * acceleration(positions)
        return (positions, velocities), positions

    return lax.scan(step, (positions, velocities), None, length=steps)[1]


def miss(launch: Any, steps: int, years: Any) -> Any:
    """From Saturn to the probe at the end [2]."""
    end = flight(launch, steps, years)[-1]
    return end[4] - end[3]


def aimed(launch: Any, steps: int, years: float, tries: int) -> tuple[Any, list[float]]:
    """A launch that meets Saturn by Newton's method, and the distances on the way to it."""
    jacobian = jit(jacfwd(miss), static_argnums=1)
    distances = []
    for _ in range(tries):
        error = miss(launch, steps, years)
        distances.append(float(np.linalg.norm(error)))
        change = np.linalg.solve(jacobian(launch, steps, years), error)
        longest = 0.3  # AU / year: far away the Jacobian isn't what it is here
        launch = launch - change * np.minimum(1.0, longest / np.linalg.norm(change))
    distances.append(float(np.linalg.norm(miss(launch, steps, years))))
    return launch, distances


def main(picture: str = "orbit.png", quick: bool = False) -> tuple[float, float]:
    """Aims; prints and returns the miss in AU at first, and in the end."""
    steps, years = (60 if quick else 4000), 3.6
    with enable_x64():
        # of many launches along and across Earth's way the one that comes nearest is the start
        along = onp.array([-onp.sin(STARTS[1]), onp.cos(STARTS[1])])
        across = onp.array([onp.cos(STARTS[1]), onp.sin(STARTS[1])])
        grid = onp.stack(onp.meshgrid(onp.linspace(1.8, 2.6, 9), onp.linspace(-0.6, 0.6, 9)), -1)
        launches = grid.reshape(-1, 2) @ onp.stack([along, across])
        ends = vmap(lambda v: miss(v, steps // 4, years))(launches)
        first = launches[int(np.argmin(np.linalg.norm(ends, axis=1)))]
        launch, distances = aimed(np.array(first), steps, years, 2 if quick else 25)
        path = onp.asarray(flight(launch, steps, years))
        slope = onp.asarray(jacfwd(miss)(launch, steps, years))
    nearest = float(onp.linalg.norm(path[:, 4] - path[:, 2], axis=1).min())
    wide = float(onp.linalg.norm(slope, 2)) * 0.001 / SPEED
    speed = float(np.linalg.norm(launch)) * SPEED
    print(f"simulation           {steps} steps, {years} years, 81 launches at once to begin with")
    print(
        f"launch               {speed:.3f} km/s beside Earth's, passing Jupiter at {nearest:.2f} AU"
    )
    print(f"miss                 {distances[0]:.3f} AU, {distances[-1]:.1e} after Newton's steps")
    print(f"1 m/s at launch      moves the arrival by up to {wide * 1.496e8:,.0f} km")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for i, name in enumerate(("Sun", "Earth", "Jupiter", "Saturn", "probe")):
            axes.plot(*path[:, i].T, label=name, linewidth=2 if i == 4 else 0.8)
        axes.plot(*path[-1, 4], "o")
        axes.set(xlabel="AU", ylabel="AU", aspect="equal")
        axes.legend()

    pictures.save(picture, draw, (6, 6))
    return distances[0], distances[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--picture", default="orbit.png", help="'' for none")
    parser.add_argument("--quick", action="store_true", help="60 steps, aimed twice")
    main(**vars(parser.parse_args()))
