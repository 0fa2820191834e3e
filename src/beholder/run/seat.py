"""Who answers on a route: a judge with its limits, its price, its folder name and its identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import ConfigError
from beholder.judges import judge_folder, list_price, media_limits, most_tokens, parse_model, price_at
from beholder.records import JudgeSpec, MediaLimits, Protocol, Route, Usage, Video
from beholder.run.spec import RunSpec

Price = tuple[Decimal, Decimal]
"""USD per million tokens in and out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One of a run's judges.

    Attributes:
        route: `visual`, or `text` where routing is strict.
        limits: What the judge takes.
        folder: `semantic_<name>_<route>_judge`.
        price: The user's own; None takes the price list.
        min_interval_s: 0 for a scripted judge.
        script_sha256: Of a scripted judge's file: another script is another judge.
    """

    route: Route
    judge: JudgeSpec
    limits: MediaLimits
    folder: str
    price: Price | None
    min_interval_s: float
    script_sha256: str | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What makes the judge the same judge: model, address and settings, no key."""
        return {
            "model": self.judge.model,
            "base_url": self.judge.base_url,
            "max_tokens": self.judge.max_tokens,
            "temperature": None if self.judge.temperature is None else float(self.judge.temperature),
            "settings": dict(sorted(self.judge.settings.items())),
            **({"script_sha256": self.script_sha256} if self.script_sha256 else {}),
        }

    def cost(self, usage: Usage) -> Decimal | None:
        """USD by the user's price, else by the price list; None if neither knows."""
        return price_at(usage, *self.price) if self.price else list_price(self.judge, usage)

    def worst_cost(self, prompt: str, images: int, videos: Sequence[Video] = ()) -> Decimal:
        """What one attempt can cost at the most, in USD; 0 where the price is unknown."""
        tokens = most_tokens(self.judge, prompt, images, videos)
        most = Usage(input_tokens=tokens, output_tokens=self.judge.max_tokens)
        return self.cost(most) or Decimal(0)


def seats_for(spec: RunSpec, protocol: Protocol) -> dict[Route, Seat]:
    """The judges of a run by route, the visual one first; one of them where there is no text route.

    Raises:
        ConfigError: A judge is missing or wrong, or its price must be known and is not.
    """
    try:
        json.dumps(dict(spec.settings), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"settings of the judge: {error}; they are sent as JSON", concerns="-M") from None
    routes: list[Route] = ["visual"]
    if protocol.routing.kind == "strict":
        routes.append("text")
    elif spec.text_judge is not None:
        raise ConfigError(
            f"--text-judge-model: {protocol.id} has no text route; leave it out",
            concerns="--text-judge-model",
        )
    judges = {route: _judge(spec, protocol, route) for route in routes}
    models = {judge.model for judge in judges.values()}
    priced = {judge.model for judge in judges.values() if _list_knows(judge)} if spec.price else set()
    interval = float(protocol.judge.min_interval_s) if spec.min_interval_s is None else spec.min_interval_s
    seats = {
        route: Seat(
            route=route,
            judge=judge,
            limits=media_limits(judge),
            folder=judge_folder(judge, route, spec.judge_name),
            # Of two judges of which the list knows one, the user's price is for the other.
            price=None if len(priced) < len(models) and judge.model in priced else spec.price,
            min_interval_s=0.0 if judge.scripted else interval,
            script_sha256=_script_sha256(judge),
        )
        for route, judge in judges.items()
    }
    for seat in seats.values():
        _check_price(spec, seat)
    return seats


def _judge(spec: RunSpec, protocol: Protocol, route: Route) -> JudgeSpec:
    defaults = protocol.judge
    flags = {"visual": spec.visual_judge, "text": spec.text_judge}
    own = {"visual": defaults.visual_model, "text": defaults.text_model}
    model = flags[route] or spec.judge or own[route] or defaults.model
    if model is None:
        flag = f"--{route}-judge-model" if any(flags.values()) else "--judge"
        raise ConfigError(
            f"{protocol.id} has no judge of its own{' for this route' if flag != '--judge' else ''}: say "
            f"{flag} provider/name, such as {flag} anthropic/claude-sonnet-4-6",
            slug="no_judge",
            concerns=flag,
        )
    provider, name = parse_model(model, base_url=spec.base_url)
    return JudgeSpec(
        provider=provider,
        name=name,
        max_tokens=spec.max_tokens if spec.max_tokens is not None else defaults.max_tokens,
        temperature=spec.temperature if spec.temperature is not None else defaults.temperature,
        base_url=spec.base_url,
        api_key_env=spec.api_key_env,
        timeout_s=spec.timeout_s,
        settings=spec.settings,
    )


def _script_sha256(judge: JudgeSpec) -> str | None:
    if not judge.scripted:
        return None
    try:
        return hashlib.sha256(Path(judge.name).read_bytes()).hexdigest()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise ConfigError(f"scripted judge {judge.name}: {reason}", concerns=judge.name) from None


def _list_knows(judge: JudgeSpec) -> bool:
    return list_price(judge, Usage(input_tokens=1000, output_tokens=1000)) is not None


def _check_price(spec: RunSpec, seat: Seat) -> None:
    """A limit cannot be kept where no price is known."""
    if spec.max_cost is None or seat.price is not None or _list_knows(seat.judge):
        return
    raise ConfigError(
        f"--max-cost: the price of {seat.judge.model} is unknown; say --price IN,OUT (USD per million "
        "tokens)",
        slug="unknown_price",
        concerns="--max-cost",
    )
