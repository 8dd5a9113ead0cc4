"""Models whose constructor says in one sentence what is wrong."""

from functools import wraps
from typing import Any

from pydantic import BaseModel, ValidationError

from capsmodel.settings.messages import explain
from capsmodel.settings.plain import plain


class Constructed(BaseModel):
    """A model that refuses bad values in one sentence where it is built by its constructor.

    The constructor takes NumPy's numbers and arrays as plain numbers and lists.

    Where it is read from JSON, or built inside another one, pydantic's account stays as it is, to
    be explained with its place by the caller that reads them.
    """

    @wraps(BaseModel.__init__)  # so that pydantic reads models as before, without this constructor
    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**plain(values))
        except ValidationError as error:
            raise ValueError(explain(error, type(self))) from None
