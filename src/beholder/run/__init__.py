"""The conductor: plan, concurrency, the boundary between exceptions and outcomes."""

from beholder.run.conductor import RunResult, judge_run
from beholder.run.estimate import Estimate, estimate_run
from beholder.run.plan import told_protocol
from beholder.run.spec import RunSpec, parse_network, parse_price, parse_run_dirs

__all__ = [
    "Estimate",
    "RunResult",
    "RunSpec",
    "estimate_run",
    "judge_run",
    "parse_network",
    "parse_price",
    "parse_run_dirs",
    "told_protocol",
]
