"""What a run is asked to do: a plain declaration that can be compared, printed and written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import ConfigError
from beholder.records import NetworkPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One `judge-run`. Only tasks, run directories and the out-dir have no default.

    Attributes:
        tasks: Task file.
        run_dirs: Model name -> its run directory. With several, each has its own `out_dir/NAME`.
        protocol: Built-in id or protocol file; None takes the one that the tasks' columns tell.
        judge: `provider/name`; None takes the protocol's own.
        text_judge, visual_judge: The same, for one route where routing is strict; they win over `judge`.
        prompt_file: The user's own wording, byte for byte.
        columns: Our column name -> the task file's.
        limit, task_ids: Fewer tasks: the first ones, or the named ones.
        repeats: How often each task is judged; None takes the protocol's number.
        judge_name: The word in the folder names `semantic_<name>_visual_judge`.
        base_url, api_key_env, max_tokens, temperature, settings: Of the judge; flags win over the protocol.
        max_connections: Calls under way at one time.
        max_retries: Attempts after the first one, per call.
        timeout_s: For one attempt, until the last byte.
        min_interval_s: Between the starts of two calls; None takes the protocol's.
        network: Which outside hosts pages may reach.
        record, replay: A folder that keeps what the outside answers to pages, or that is all they get of it.
        cache_dir: Where rendered results are kept for other runs.
        max_cost: USD that the replies in the out-dir may cost; the run stops before it is exceeded.
        price: USD per million tokens in and out, for a judge that the price list does not know. It is for
            both judges, unless the list knows one of two.
        retry_unscored: Ask again where a call had failed for good.
        force: Archive what the out-dir holds and begin anew.
    """

    tasks: Path
    run_dirs: Mapping[str, Path]
    out_dir: Path
    protocol: str | Path | None = None
    judge: str | None = None
    text_judge: str | None = None
    visual_judge: str | None = None
    prompt_file: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    task_ids: tuple[str, ...] = ()
    repeats: int | None = None
    judge_name: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    max_tokens: int | None = None
    temperature: Decimal | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    max_connections: int = 10
    max_retries: int = 5
    timeout_s: float = 120.0
    min_interval_s: float | None = None
    network: NetworkPolicy = field(default_factory=NetworkPolicy)
    record: Path | None = None
    replay: Path | None = None
    cache_dir: Path | None = None
    max_output_images: int | None = None
    max_output_pages: int | None = None
    max_output_text_chars: int | None = None
    max_cost: Decimal | None = None
    price: tuple[Decimal, Decimal] | None = None
    retry_unscored: bool = False
    force: bool = False


def parse_network(value: str | None) -> NetworkPolicy:
    """`block`, `allow` or host names with commas between; None: the user said nothing.

    Raises:
        ConfigError: A host name that is none.
    """
    if value is None:
        return NetworkPolicy()
    if value in {"block", "allow"}:
        return NetworkPolicy(mode="allow" if value == "allow" else "block", given=True)
    hosts = tuple(host.strip().lower() for host in value.split(",") if host.strip())
    for host in hosts:
        if "/" in host or ":" in host or " " in host or host in {"block", "allow"}:
            raise ConfigError(
                f"--network {value!r}: {host!r} is no host name; write block, allow, or names such as "
                "unpkg.com,.tile.openstreetmap.org",
                concerns="--network",
            )
    if not hosts:
        raise ConfigError("--network: write block, allow, or host names", concerns="--network")
    return NetworkPolicy(mode="hosts", hosts=hosts, given=True)


def check_record(network: NetworkPolicy, record: Path | None, replay: Path | None) -> None:
    """Refuse flags that mean nothing together.

    Raises:
        ConfigError: Recording without a way out, or recording and replaying at once.
    """
    if record is not None and replay is not None:
        raise ConfigError(
            "--record and --replay: a run either keeps what the outside answers or draws from what was kept",
            concerns="--replay",
        )
    if record is not None and network.mode == "block":
        raise ConfigError(
            "--record: pages reach nobody whose answers could be kept; say --network allow, or name hosts",
            concerns="--record",
        )


def parse_price(value: str | None) -> tuple[Decimal, Decimal] | None:
    """`IN,OUT`: USD per million tokens.

    Raises:
        ConfigError: It is no two numbers.
    """
    if value is None:
        return None
    try:
        usd_in, usd_out = (Decimal(part) for part in value.split(","))
    except (ValueError, ArithmeticError):
        raise ConfigError(
            f"--price {value!r}: write USD per million tokens in and out, such as 3,15", concerns="--price"
        ) from None
    if not (usd_in.is_finite() and usd_out.is_finite() and usd_in >= 0 and usd_out >= 0):
        raise ConfigError(f"--price {value!r}: prices are finite and not below 0", concerns="--price")
    return usd_in, usd_out


def parse_run_dirs(values: tuple[str, ...]) -> dict[str, Path]:
    """`PATH` or `NAME=PATH`, each once; without a name, the folder's.

    Raises:
        ConfigError: Two have the same name.
    """
    found: dict[str, Path] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        # A folder whose own name has an equals sign is meant as it stands.
        path = Path(rest) if equals and name and not Path(value).exists() else Path(value)
        if path.name != rest and path == Path(value):
            name = path.resolve().name
        if name in found:
            raise ConfigError(
                f"--run-dir: two are named {name!r}; name them, such as --run-dir {name}-2={path}",
                concerns="--run-dir",
            )
        found[name] = path
    return found
