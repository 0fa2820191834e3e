"""What a call costs by the library's price list. What the list does not know has no price, never 0."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from beholder.records import JudgeSpec, Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

PER_TOKENS = Decimal(1_000_000)


def price_of(response: ModelResponse) -> Decimal | None:
    """USD of one answer: what the vendor itself says (OpenRouter does), else by the price list, else None."""
    told = (response.provider_details or {}).get("cost")
    if isinstance(told, int | float):
        return _sane(Decimal(str(told)))
    if not response.model_name or not response.usage.has_values():
        return None
    try:
        return _sane(Decimal(response.cost().total_price))
    except (LookupError, ValueError, ArithmeticError, TypeError, AttributeError):
        # Unknown model or provider, usage that cannot be priced: an answer must not be lost for its price.
        return None


def _sane(cost: Decimal) -> Decimal | None:
    return cost if cost.is_finite() and cost >= 0 else None


def price_at(usage: Usage, usd_in: Decimal, usd_out: Decimal) -> Decimal | None:
    """USD at a price the user gave, per million tokens in and out; None if the usage is not known."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return (usage.input_tokens * usd_in + usage.output_tokens * usd_out) / PER_TOKENS


def list_price(spec: JudgeSpec, usage: Usage) -> Decimal | None:
    """USD by the price list for a judge that was not asked yet, for an estimate; None if it has no price."""
    from genai_prices import Usage as ListUsage
    from genai_prices import calc_price

    if spec.scripted:
        return Decimal(0)
    tokens = ListUsage(input_tokens=usage.input_tokens or 0, output_tokens=usage.output_tokens or 0)
    try:
        if spec.base_url:
            price = calc_price(tokens, spec.name, provider_api_url=spec.base_url)
        else:
            price = calc_price(tokens, spec.name, provider_id=spec.provider)
    except (LookupError, ValueError):
        return None
    return Decimal(price.total_price)
