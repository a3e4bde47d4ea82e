"""Bugs in Fourier transforms, and in what is made of them."""

from planted.record import Mutant

FFT = "tests/numpy/test_fft.py"
COSINES = "tests/scipy/test_fft.py"
SIGNAL = "tests/scipy/test_signal.py"
BETWEEN = "tests/scipy/test_interpolation.py"
TURNS = "tests/scipy/test_transform.py"

MUTANTS = (
    Mutant(
        "F01", "the transpose of rfft counts no pairs", "primitives/fft.py",
        "count, count / 2)",
        "count, count)",
        f"{FFT} -k gradient",
    ),
    Mutant(
        "F02", "the middle frequency of odd lengths counts alone", "primitives/fft.py",
        "edges = ((1, int(n % 2 == 0), 0),)",
        "edges = ((1, 1, 0),)",
        f"{FFT} -k gradient",
    ),
    Mutant(
        "F03", "inverse transforms on GPUs: axes not brought back", "primitives/fft.py",
        "x = block.transpose(x, tuple([order.index(i) for i in range(n)]))",
        "x = block.transpose(x, order)",
        "tests/lax/test_accelerator_forms.py -k fft",
    ),
    Mutant(
        "F04", "beyond three axes, inverses go forwards", "lax/fft.py",
        "complex_type = FftType.IFFT if inverse else FftType.FFT",
        "complex_type = FftType.FFT",
        f"{FFT} -k more_axes",
    ),
    Mutant(
        "F05", "repeated axes in another order", "numpy/fft/lengths.py",
        "if kind is FftType.IRFFT else steps[::-1]",
        "if kind is not FftType.IRFFT else steps[::-1]",
        f"{FFT} -k those_of_numpy",
    ),
    Mutant(
        "F06", "dct of type 1: the period of the others", "scipy/fft/options.py",
        "period = 2 * (n - 1 if cosine else n + 1) if kind == 1 else 2 * n",
        "period = 2 * n",
        f"{COSINES} -k one_axis",
    ),
    Mutant(
        "F07", "welch: the last frequency of even lengths twice", "scipy/signal/spectral.py",
        "factors[[0, -1] if n % 2 == 0 else [0]] = 1.0",
        "factors[[0]] = 1.0",
        f"{SIGNAL} -k densities",
    ),
    Mutant(
        "F08", "stft: padding of less than a segment", "scipy/signal/spectral.py",
        "% segments.step % segments.length",
        "% segments.length",
        f"{SIGNAL} -k short_time",
    ),
    Mutant(
        "F09", "as near to two elements of a grid: the second", "scipy/interpolate/regular_grid.py",
        "(t > 0.5)",
        "(t >= 0.5)",
        f"{BETWEEN} -k grids",
    ),
    Mutant(
        "F10", "the series of a short rotation vector", "scipy/spatial/transform/quaternions.py",
        "series = 2 + square / 3",
        "series = 2 + square / 2",
        f"{TURNS} -k vectors",
    ),
)  # fmt: skip
