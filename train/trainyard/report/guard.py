"""Looks at loss and gradient norm of each step, and says what is wrong with them."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

from trainyard.report.failure import RunError

# Steps that a spike is measured against, and how many there must be: before,
# the loss falls too fast to tell.
WINDOW = 100
ENOUGH = 20
# A spike is this many median absolute deviations above the median, and this
# many times the median. A MAD of normal noise is 0.67 of its standard
# deviation, so that 10 are not met by chance.
DEVIATIONS = 10.0
RATIO = 1.5
# Updates that are not finite are skipped; so many in a row end the run.
PATIENCE = 5


class Guard:
    """What the last steps were like. All ranks see the same numbers."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=WINDOW)
        self._began: float | None = None
        self._diverged = False
        self._last_good: tuple[int, float] | None = None
        self._bad_since: int | None = None
        self._bad = 0
        self._spiking = False

    def see(self, step: int, loss: float, grad_norm: float | None = None) -> str | None:
        """Take the numbers of a step; returns a warning if they look wrong.

        Raises RunError once PATIENCE steps in a row were not finite.
        """
        if not math.isfinite(loss):
            return self._not_finite(step, f"the loss is {loss}")
        if grad_norm is not None and not math.isfinite(grad_norm):
            return self._not_finite(step, f"the norm of the gradients is {grad_norm}")
        self._bad, self._bad_since = 0, None
        self._began = loss if self._began is None else self._began
        warning = self._spike(step, loss) or self._divergence(step)
        self._recent.append(loss)
        self._last_good = step, loss
        return warning

    def _not_finite(self, step: int, what: str) -> str:
        self._bad += 1
        self._bad_since = step if self._bad_since is None else self._bad_since
        if self._bad >= PATIENCE:
            raise RunError(
                f"at step {step} {what}, and nothing was finite since step {self._bad_since}"
                f" ({self._good()}); try a lower --learning-rate or more --warmup-steps, from the"
                " last checkpoint before that step, and look at the data that it read",
                kind="numbers",
            )
        return f"at step {step} {what} ({self._good()}): the update is skipped"

    def _good(self) -> str:
        if self._last_good is None:
            return "no step was good before"
        step, loss = self._last_good
        return f"the last good loss was {loss:.4f} at step {step}"

    def _spike(self, step: int, loss: float) -> str | None:
        if len(self._recent) < ENOUGH:
            return None
        usual = median(self._recent)
        spread = median(abs(other - usual) for other in self._recent)
        was, self._spiking = (
            self._spiking,
            loss > usual + max(DEVIATIONS * spread, (RATIO - 1) * abs(usual)),
        )
        if was or not self._spiking:  # one warning a spike, however long
            return None
        return (
            f"the loss jumped to {loss:.4f} at step {step}: it was {usual:.4f}"
            f" +- {spread:.4f} over the last {len(self._recent)} steps"
        )

    def _divergence(self, step: int) -> str | None:
        """A loss that only rises has no spikes: it is held against where it began."""
        if self._diverged or self._began is None or len(self._recent) < ENOUGH:
            return None
        usual = median(self._recent)
        self._diverged = usual > RATIO * abs(self._began)
        if not self._diverged:
            return None
        return (
            f"the loss is {usual:.4f} by step {step} and began at {self._began:.4f}:"
            " try a lower --learning-rate or more --warmup-steps"
        )
