"""Print the `dev` dependency group of pyproject.toml: pip before 25.1 does not read groups."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
print(" ".join(project["dependency-groups"]["dev"]))
