"""The couplings of the class capsules, laid out as their children lie."""

from jaxtyping import Float, Int
from torch import Tensor

from capsmodel.models import ChildGrid
from capsmodel.routing import Couplings


def shares_of_children(
    couplings: Couplings, children: ChildGrid, classes: Int[Tensor, " batch"]
) -> Float[Tensor, "batch types rows columns"]:
    """Return which share of each child goes to a class, by the child's type and place.

    Args:
        couplings: Of the layer of the class capsules, which has one place.
        children: Where its children lie.
        classes: The class that is asked for, of each image.
    """
    own = couplings.values[:, range(len(classes)), classes].t()
    if children.is_by_type:
        return own.unflatten(1, (children.types, children.rows, children.columns))
    by_place = own.unflatten(1, (children.rows, children.columns, children.types))
    return by_place.permute(0, 3, 1, 2)
