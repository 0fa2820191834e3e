"""Where a judge's key comes from. A vendor's key goes to that vendor's host only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from beholder.errors import ConfigError
from beholder.records import JudgeSpec

VENDOR_URLS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "google": "https://generativelanguage.googleapis.com",
}

# Host (and its subdomains) -> the variables that may hold its key, the first one set wins.
HOST_KEYS: Mapping[str, tuple[str, ...]] = {
    "api.anthropic.com": ("ANTHROPIC_API_KEY",),
    "api.openai.com": ("OPENAI_API_KEY",),
    "generativelanguage.googleapis.com": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "dmxapi.cn": ("DMX_API_KEY",),
    "openrouter.ai": ("OPENROUTER_API_KEY",),
}


@dataclass(frozen=True, slots=True)
class Key:
    """A key and the variable it was found in. Its value is in no `repr`."""

    value: str = field(repr=False)
    variable: str


def base_url_of(spec: JudgeSpec) -> str:
    """The address that requests go to: the user's, else the vendor's own; never one from the environment."""
    return spec.base_url or VENDOR_URLS[spec.provider]


def host_of(url: str) -> str:
    """The host of an address, lower case.

    Raises:
        ConfigError: It is no http or https address.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f'--model-base-url "{url}": write an address such as https://host/v1', concerns=url)
    return parts.hostname.lower()


def known_variables(host: str) -> tuple[str, ...]:
    """The variables that may hold this host's key; empty for an unknown host."""
    for known, variables in HOST_KEYS.items():
        if host == known or host.endswith("." + known):
            return variables
    return ()


def find_key(spec: JudgeSpec, environ: Mapping[str, str]) -> Key | None:
    """The key for a judge, or None where none is needed or known to be needed.

    Raises:
        ConfigError: The key is missing; the message names the variable and where to set it.
    """
    if spec.scripted:
        return None
    host = host_of(base_url_of(spec))
    if spec.api_key_env:
        return _first_set((spec.api_key_env,), environ, spec, host)
    variables = known_variables(host)
    if variables:
        return _first_set(variables, environ, spec, host)
    # A server of one's own mostly asks for none, and a vendor's key goes to that vendor only.
    return None


def _first_set(variables: tuple[str, ...], environ: Mapping[str, str], spec: JudgeSpec, host: str) -> Key:
    for name in variables:
        value = environ.get(name, "").strip()
        if value:
            return Key(value, name)
    raise ConfigError(
        f"judge {spec.model} needs a key for {host}, and {' or '.join(variables)} is not set: "
        f"export {variables[0]}=…, or write {variables[0]}=… into a .env file in the current folder",
        slug="missing_key",
        concerns=spec.model,
    )
