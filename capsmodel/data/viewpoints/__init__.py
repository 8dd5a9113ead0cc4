"""Stereo pairs of solids from known viewpoints, drawn by this package."""

from capsmodel.data.viewpoints.data_set import Viewpoints as Viewpoints
