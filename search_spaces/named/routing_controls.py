"""Does routing by agreement beat routing that looks at nothing? On 8x8 digits, minutes.

One body, and six ways in which its primary capsules' votes become class capsules: by agreement in
three rounds and in one, with a leak, by expectation maximisation, and the two controls that any
claim about routing has to beat: equal shares, and shares drawn at random.

Source: Paik, Kwak and Kim 2019, arXiv:1907.13327, "Capsule networks need an improved routing
algorithm", for the controls and for the question.
Difference: their bodies are deeper and their images harder, so their figures do not stand beside
these. EM is built for capsules with activations of their own; here the length of a pose is one.

One round by agreement shares equally, as "uniform" does: the two differ in rounding alone, which
shows what difference means nothing. EM's temperature and its initial cost were chosen on the
validation images among 16 settings (one seed): at the temperature of its paper, which trains some
hundred times as long, it misses 3 % of them, with those chosen 1.4 %. Nothing else was chosen.

Half of the training images are held out, so that single images decide less: with all of them every
arm misses none or one of 180. An arm takes 1 to 6 s a seed on one core, the sweep about 2 minutes
on two. For a first look: `--epochs 2 --seeds 0`.
"""

from capsmodel.overrides import with_settings
from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

SWEEP = Sweep(
    name="routing_controls",
    description="Routings of one small capsule network, beside uniform and random ones, on digits.",
    base=with_settings(SMALL_CAPSNET, {"data.validation_fraction": 0.5, "stopping.epochs": 10}),
    plan=ListedArms(
        baseline="dynamic, 3 iterations",
        arms={
            "dynamic, 3 iterations": {},
            "dynamic, 1 iteration": {"model.routing.iterations": 1},
            "leaky": {"model.routing": "leaky"},
            "EM": {
                "model.routing": {
                    "kind": "em",
                    "inverse_temperature": {"kind": "rising", "final": 0.1},
                    "class_cost_bias": 2.0,
                }
            },
            "uniform": {"model.routing": "uniform"},
            "random": {"model.routing": "random"},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    tables=(AblationTable(), CurvesFigure()),
)
