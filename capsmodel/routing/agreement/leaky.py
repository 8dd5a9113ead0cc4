"""Leaky routing: an input may go to none of the outputs."""

from typing import ClassVar, Literal

from pydantic import model_validator

from capsmodel.routing.agreement.agreement_routing import AgreementRouting


class LeakyRouting(AgreementRouting):
    """Routing by agreement in which a share of each input leaks away.

    One more output, whose logit stays at zero, takes part in each softmax and is then dropped: what
    agrees with nothing need not be explained. In a convolutional layer an input has one leak.

    Source: the released code of Sabour, Frosst and Hinton 2017, arXiv:1710.09829, where it is the
    paper's category "none of the above".
    Difference: none with a bias, which the paper does not have.
    """

    has_leak: ClassVar[bool] = True
    kind: Literal["leaky"] = "leaky"

    @model_validator(mode="after")
    def _check_competition(self) -> "LeakyRouting":
        if self.competition == "children":
            raise ValueError(
                "competition must be 'parents' or 'types' in leaky routing, got 'children': the "
                "leak is one more parent."
            )
        return self
