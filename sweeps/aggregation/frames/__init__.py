"""Records as pandas frames, whose columns have units in `frame.attrs["units"]`."""

from sweeps.aggregation.frames.curve_frame import curves as curves
from sweeps.aggregation.frames.image_frame import predictions as predictions
from sweeps.aggregation.frames.sweep_frame import sweeps as sweeps
from sweeps.aggregation.frames.trial_frame import trials as trials
