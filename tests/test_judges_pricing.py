"""What calls cost."""

from __future__ import annotations

from decimal import Decimal

import pytest

from beholder.judges import list_price, price_at
from beholder.records import JudgeSpec, Usage


def test_price_at_a_given_price() -> None:
    """2,000 tokens in at 3 USD and 500 out at 15 USD per million are 0.006 + 0.0075 USD."""
    usage = Usage(input_tokens=2000, output_tokens=500)
    assert price_at(usage, Decimal(3), Decimal(15)) == Decimal("0.0135")


def test_unknown_usage_has_no_price() -> None:
    """Without token counts there is no cost, not 0."""
    assert price_at(Usage(), Decimal(3), Decimal(15)) is None
    assert price_at(Usage(input_tokens=5), Decimal(3), Decimal(15)) is None


def test_list_price_of_a_known_model() -> None:
    """A model of the price list has a price that grows with its tokens."""
    spec = JudgeSpec(provider="anthropic", name="claude-sonnet-4-6")
    small = list_price(spec, Usage(input_tokens=1000, output_tokens=100))
    large = list_price(spec, Usage(input_tokens=2000, output_tokens=200))
    assert small is not None
    assert large == pytest.approx(small * 2)
    assert small > 0


@pytest.mark.parametrize(
    "spec",
    [
        JudgeSpec(provider="openai", name="unheard-of-model"),
        JudgeSpec(provider="openai-compatible", name="gpt-4o", base_url="https://reseller.example/v1"),
        JudgeSpec(provider="openai-compatible", name="x", base_url="http://127.0.0.1:1/v1"),
    ],
)
def test_unknown_models_and_resellers_have_no_list_price(spec: JudgeSpec) -> None:
    """A model or a host that the list does not know has no price, not 0 and not another vendor's."""
    assert list_price(spec, Usage(input_tokens=1000, output_tokens=100)) is None


def test_scripted_replies_are_free() -> None:
    """A scripted judge costs exactly 0."""
    assert list_price(JudgeSpec(provider="scripted", name="x"), Usage(input_tokens=9)) == 0
