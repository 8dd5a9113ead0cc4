"""The health of a training: numbers after each epoch, and warnings in words.

gradient_norm           mean over the steps of the Euclidean norm of the whole gradient
gradient_norm_max       the largest of them
vanished_gradient.LAYER only of the first layers whose gradient is nearly zero: the largest root
                        mean square of its numbers in any step, below 1e-10
class_loss              validation loss without what the model itself adds, such as the
                        penalty of the reconstruction
dead_capsules           share of the classes whose belief stays below 0.05 in all images
saturated_capsules      share of the classes whose belief stays above 0.95 in all images
low_beliefs             share of all beliefs in all images below 0.05
high_beliefs            share of them above 0.95
routing_entropy.LAYER   how evenly a child is shared out: 1 among all alike, 0 to one parent
routing_distance.LAYER  how far from evenly: 0 among all alike, towards 1 to one of many
loss_turns              share of the last epochs in which the training loss changed direction
loss_swing              mean step of the training loss in them, as a share of its mean
"""

from capsmodel.health.alarms import warnings_of as warnings_of
from capsmodel.health.metrics import belief_metrics as belief_metrics
from capsmodel.health.metrics import gradient_metrics as gradient_metrics
from capsmodel.health.metrics import largest_gradients as largest_gradients
from capsmodel.health.metrics import loss_metrics as loss_metrics
from capsmodel.health.metrics import routing_metrics as routing_metrics
from capsmodel.health.metrics import vanished_gradients as vanished_gradients
