"""`from package import *`, as notebooks have it, gives the public names."""

from importlib import import_module

import pytest


@pytest.mark.parametrize("package", ["capsmodel", "search_spaces", "sweeps"])
def test_a_star_stands_for_the_public_names(package: str) -> None:
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    module = import_module(package)
    assert names.keys() - {"__builtins__"} == {*dir(module)}
    assert all(names[name] is getattr(module, name) for name in dir(module))
