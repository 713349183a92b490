"""Types and descriptions of what is compiled."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str

Path = str | os.PathLike[str]
Motion = Callable[[NDArray[np.float32], Any, NDArray[np.float32]], ArrayLike]
Likelihood = Callable[[NDArray[np.float32], Any], ArrayLike]
Resampler = Callable[[NDArray[np.float32], int, NDArray[np.float64]], ArrayLike]

class ParticleFilter:
    """A particle filter of a model of your own.

    `motion(particles, action, noise)` returns moved particles, `likelihood(particles, observation)` log-likelihoods; both
    see all particles at once, as float32 of the shape of `initial`: (N,) or (N, d). `noise` are standard normal numbers,
    `noise=` of them for each particle (d unless said otherwise), named by `seed`. A log-likelihood of -inf or NaN removes
    a particle. Compiled pieces stand for either function. `resampler` is "systematic", "stratified", "multinomial" or
    "residual", SoftResampling, or `resampler(weights, count, uniforms)`, which returns ancestors. Particles are
    resampled where the effective sample size is below `resample_below` of N; always above 1. Coordinates in `angles` are
    radians, and averaged as directions. A step in which a function raises changes nothing.
    """

    def __init__(
        self,
        motion: Motion | LinearMotion | Odometry,
        likelihood: Likelihood | LinearSensor | StochasticVolatility,
        resampler: str | SoftResampling | Resampler | None = None,
        *,
        initial: ArrayLike,
        angles: Sequence[int] = ...,
        resample_below: float = 0.5,
        noise: int | None = None,
        tempering: float = 1.0,
        seed: int = 0,
    ) -> None: ...
    def step(self, observation: Any = None, action: Any = None) -> Step:
        """Moves, unless this is the first step, and reweights, unless there is no observation."""

    def run(
        self,
        observations: Iterable[Any],
        actions: Iterable[Any] | None = None,
        *,
        covariance: bool = False,
        history: bool = False,
    ) -> Filtered:
        """Steps through a series; None stands for what is missing. `history` keeps all particles."""

    @property
    def mean(self) -> NDArray[np.float64] | float: ...
    @property
    def covariance(self) -> NDArray[np.float64] | float: ...
    @property
    def particles(self) -> NDArray[np.float32]:
        """A copy, as the next step moves particles in place."""

    @property
    def weights(self) -> NDArray[np.float32]: ...
    @property
    def ancestors(self) -> NDArray[np.uint32]: ...
    @property
    def effective_sample_size(self) -> float: ...
    @property
    def log_evidence(self) -> float:
        """log p of all observations so far."""

    @property
    def steps(self) -> int: ...

class Step:
    """What a step came to. `log_evidence` is log p of the observation, -1e30 where no particle could explain it
    (`collapsed`; weights were kept then), and 0 without one."""

    log_evidence: float
    collapsed: bool
    seen: bool
    moved: bool
    resampled: bool

class Filtered:
    """What a filter believed at each step of a series; the first axis of all arrays is time."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    log_evidence: NDArray[np.float64]
    effective_sample_size: NDArray[np.float64]
    collapsed: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    resampled: NDArray[np.bool_]
    particles: NDArray[np.float32]
    weights: NDArray[np.float32]
    def __len__(self) -> int: ...

class LinearMotion:
    """s' = matrix s + control a + offset + N(0, covariance), with a the action."""

    def __init__(
        self,
        matrix: ArrayLike,
        covariance: ArrayLike,
        *,
        control: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> None: ...

def random_walk(covariance: ArrayLike) -> LinearMotion:
    """s' = s + N(0, covariance)."""

class Odometry:
    """Poses x, y, heading, moved by (forward, left, turn). Standard deviations, of position and heading, at `rest`, as a
    `share` of the motion, and where the action is `missing`."""

    def __init__(
        self,
        *,
        rest: tuple[float, float] = (0.0, 0.0),
        share: tuple[float, float] = (0.0, 0.0),
        missing: tuple[float, float] = (0.0, 0.0),
        frame: str = "robot",
    ) -> None: ...

class LinearSensor:
    """y = matrix s + N(0, covariance); numbers that are NaN are missing."""

    def __init__(self, matrix: ArrayLike, covariance: ArrayLike) -> None: ...

class StochasticVolatility:
    """y = scale exp(x / 2) N(0, 1), with x the first coordinate."""

    def __init__(self, scale: float = 1.0) -> None: ...

class SoftResampling:
    """Ancestors by alpha w + (1 - alpha) / N: gradients pass it."""

    def __init__(self, alpha: float = 0.5, scheme: str = "systematic") -> None: ...
    @property
    def alpha(self) -> float: ...

class Trace:
    """A series that was run with history=True, as a function of log-likelihoods. Particles and ancestors are constants."""

    def __init__(self, filtered: Filtered) -> None: ...
    def forward(self, log_likelihoods: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Normalised log-weights (T, N) and log evidence (T,)."""

    def backward(
        self, by_log_weights: ArrayLike | None = None, by_log_evidence: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """The gradient (T, N) by the log-likelihoods of the last `forward`."""

    @property
    def shape(self) -> tuple[int, int]: ...

class Episode:
    """What a robot saw and did, and where it was. Action t leads into step t; unknown states are NaN."""

    def __init__(
        self,
        *,
        actions: ArrayLike,
        readings: ArrayLike | None = None,
        images: NDArray[np.uint8] | None = None,
        states: ArrayLike | None = None,
        times: Sequence[float] | None = None,
    ) -> None: ...
    @property
    def readings(self) -> NDArray[np.float32] | None: ...
    @property
    def images(self) -> NDArray[Any] | None: ...
    @property
    def actions(self) -> NDArray[np.float32]: ...
    @property
    def states(self) -> NDArray[np.float32]: ...
    @property
    def times(self) -> NDArray[np.float64] | None: ...
    def __len__(self) -> int: ...

def load(path: Path, *, steps_per_episode: int | None = None, episodes: int | None = None) -> list[Episode]:
    """Episodes of any file that `driftless inspect` reads."""

def save(
    path: Path, episodes: Sequence[Episode], *, beam_angles: Sequence[float] | None = None, replace: bool = False
) -> None:
    """Writes a plain log."""

def simulate(
    world: str,
    *,
    episodes: int,
    steps: int = 100,
    size: tuple[int, int] = (32, 32),
    seed: int = 0,
    odometry_noise: float = 0.0,
    out: Path | None = None,
) -> list[Episode]:
    """Walks in a maze: maze1, maze2, maze3, or a drawing. `size` is height and width of images. `out` writes DPF's npz,
    which stores exact poses."""

def experiments() -> list[str]:
    """Names of the experiments that are built in."""

def resume(run: Path, *, progress: Callable[[dict[str, Any]], Any] | None = None) -> dict[str, Any]:
    """Goes on with an interrupted run; its data must be where they were."""

def train_files(
    experiment: str,
    data: Sequence[Path],
    run: Path,
    *,
    valid: Path | None = None,
    settings: Sequence[str] = ...,
    steps_per_episode: int | None = None,
    progress: Callable[[dict[str, Any]], Any] | None = None,
) -> dict[str, Any]: ...
def open_run(path: Path) -> Run: ...

class Run:
    """A run's best weights."""

    path: Path
    def tracker(
        self,
        *,
        pose: Sequence[float] | None = None,
        spread: Sequence[float] = (0.0, 0.0, 0.0),
        particles: int | None = None,
        seed: int = 0,
        episode: int = 0,
    ) -> Tracker:
        """A tracker of one robot, which starts anywhere, or about a pose with these standard deviations."""

    @property
    def config(self) -> str: ...
    def weights(self) -> dict[str, NDArray[np.float32]]: ...
    def evaluation(
        self,
        data: Path,
        *,
        particles: int | None = None,
        episodes: int | None = None,
        seed: int = 0,
        settings: Sequence[str] = ...,
        steps_per_episode: int | None = None,
    ) -> str: ...

    def smooth(
        self,
        data: Path | Sequence[Episode],
        *,
        paths: int = 100,
        with_poses: bool = False,
        particles: int | None = None,
        start: str | Sequence[float] | None = None,
        seed: int = 1,
        episodes: int | None = None,
        steps_per_episode: int | None = None,
    ) -> list[SmoothedPath]:
        """Where the robots of a file, or of episodes, were: by all that was seen before and after each step.

        `paths` are drawn of each episode; 0 weighs all particles instead. `with_poses` takes known poses for true. `start` is "log", "global", or numbers as
        `driftless smooth --start` takes them."""

class SmoothedPath:
    """Where a robot was at each step, after the fact."""

    @property
    def episode(self) -> int: ...
    @property
    def first(self) -> int:
        """The step of the first row."""

    @property
    def mean(self) -> NDArray[np.float64]:
        """(T, d); of angles their directions."""

    @property
    def covariance(self) -> NDArray[np.float64]:
        """(T, d, d)."""

    @property
    def filtered(self) -> NDArray[np.float64]:
        """What the filter said on the way: (T, d)."""

    @property
    def paths(self) -> NDArray[np.float32] | None:
        """Drawn paths (paths, T, d); None where all particles were weighed."""

    def __len__(self) -> int: ...

class Tracker:
    """A trained filter on one robot."""

    def step(
        self,
        *,
        image: NDArray[np.uint8] | None = None,
        odometry: Sequence[float] | None = None,
        time: float | None = None,
        readings: ArrayLike | None = None,
        **sensors: ArrayLike,
    ) -> Tracked:
        """One step. Sensors are given by the names of the run, or all of them as `readings`; what is not given is
        missing."""

    @property
    def particles(self) -> NDArray[np.float32] | None: ...
    @property
    def weights(self) -> NDArray[np.float32] | None: ...

class Tracked:
    """Where a robot is believed to be."""

    @property
    def pose(self) -> NDArray[np.float64]: ...
    @property
    def covariance(self) -> NDArray[np.float64]: ...
    @property
    def effective_sample_size(self) -> float: ...
    @property
    def kidnapped(self) -> float | None: ...
    @property
    def collapsed(self) -> bool: ...
    @property
    def seen(self) -> bool: ...
    @property
    def moved(self) -> bool: ...

def read_weights(path: Path) -> dict[str, NDArray[np.float32]]: ...
def write_weights(path: Path, weights: dict[str, ArrayLike]) -> None: ...
def command(arguments: Sequence[str]) -> int: ...
