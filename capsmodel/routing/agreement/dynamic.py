"""Dynamic routing: routing by agreement as it was first printed."""

from typing import Literal

from capsmodel.routing.agreement.agreement_routing import AgreementRouting


class DynamicRouting(AgreementRouting):
    """Routing by agreement whose shares are the softmax over the outputs.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1.
    Difference: none with the defaults, but for what `AgreementRouting` says of its logits.
    """

    kind: Literal["dynamic"] = "dynamic"
