"""The conductor: plan, concurrency, the boundary between exceptions and outcomes."""

from beholder.run.conductor import RunResult, judge_run
from beholder.run.spec import RunSpec, parse_network, parse_run_dirs

__all__ = ["RunResult", "RunSpec", "judge_run", "parse_network", "parse_run_dirs"]
