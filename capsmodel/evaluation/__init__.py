"""What is looked at in a trained network: poses moved, couplings laid out, images chosen."""

from capsmodel.evaluation.examples import first_of_each_class as first_of_each_class
from capsmodel.evaluation.latent import perturbed as perturbed
from capsmodel.evaluation.shares import shares_of_children as shares_of_children
