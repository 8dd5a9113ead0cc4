"""Leaky routing: an input may go to none of the outputs."""

from typing import ClassVar, Literal

from capsmodel.routing.agreement import AgreementRouting


class LeakyRouting(AgreementRouting):
    """Routing by agreement in which a share of each input leaks away.

    One more output, whose logit stays at zero, takes part in each softmax and is then dropped: what
    agrees with nothing need not be explained. In a convolutional layer an input has one leak.

    Source: the released code of Sabour, Frosst and Hinton 2017, the "none of the above" category of
    the paper's section 7.
    Difference: none with a bias; without one the text of the paper is followed.
    """

    has_leak: ClassVar[bool] = True
    kind: Literal["leaky"] = "leaky"
