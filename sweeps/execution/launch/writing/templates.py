"""The templates of sweep files that lie beside this module."""

from functools import cache
from typing import Any

import jinja2

from sweeps.execution.launch.writing.python_text import python_text


def rendered(template: str, **values: Any) -> str:
    """Return the text of a template; its filter `python` writes values as Python."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "", "."),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["python"] = python_text
    return environment
