"""What one contestant did: the figures of its repetitions."""

import dataclasses
import statistics


@dataclasses.dataclass
class Repetition:
    """One start of a contestant, or one request to it."""
    step_seconds: list   # of each measured step
    anonymous: int       # bytes, peak
    resident: int        # bytes, peak
    first_loss: float    # of the first step, before any update
    others: float        # processors that others kept busy meanwhile
    fma_gflops: float = 0.0  # peak probe just before, on as many threads

    # Clock ticks and the watch on memory come to half of it and more.
    QUIET_PROCESSORS = 0.15

    @property
    def seconds(self):
        return statistics.median(self.step_seconds)

    @property
    def is_quiet(self):
        return self.others < self.QUIET_PROCESSORS


@dataclasses.dataclass
class Contestant:
    """A program in one configuration. `flops` is known for Hone only, and
    `planned` where a compiler says it."""
    name: str
    threads: int
    is_hone: bool = False
    flops: int = 0         # of one step
    planned: int = 0       # bytes, known before a step
    repetitions: list = dataclasses.field(default_factory=list)
    time_ratios: list = dataclasses.field(default_factory=list)
    failure: str = ""

    def _median(self, values):
        return statistics.median(values) if self.repetitions else None

    @property
    def seconds(self):
        return self._median([r.seconds for r in self.repetitions])

    @property
    def anonymous(self):
        return max((r.anonymous for r in self.repetitions), default=0)

    @property
    def resident(self):
        return max((r.resident for r in self.repetitions), default=0)

    @property
    def gflops(self):
        return self.flops / self.seconds * 1e-9 if self.repetitions else None

    @property
    def share_of_peak(self):
        """Median of each repetition's rate over the peak measured beside it."""
        return self._median([self.flops / r.seconds * 1e-9 / r.fma_gflops
                             for r in self.repetitions])

    @property
    def time_ratio(self):
        """Median of this one's step time over Hone's in the same repetition."""
        return statistics.median(self.time_ratios) if self.time_ratios else None

    def as_dict(self, tokens):
        out = dataclasses.asdict(self)
        if self.repetitions:
            out["median"] = {
                "step_seconds": self.seconds,
                "tokens_per_second": tokens / self.seconds,
                "time_over_hone": self.time_ratio,
                "peak_anonymous_bytes": self.anonymous,
                "peak_resident_bytes": self.resident}
            if self.is_hone:
                out["median"].update(gflops=self.gflops,
                                     share_of_fma_peak=self.share_of_peak)
        return out
