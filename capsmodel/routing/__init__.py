"""Routings: how the votes of lower capsules become the poses of higher ones."""

from capsmodel.routing.base import Routing as Routing
from capsmodel.routing.dynamic import DynamicRouting as DynamicRouting
from capsmodel.routing.random import RandomRouting as RandomRouting
from capsmodel.routing.uniform import UniformRouting as UniformRouting

ROUTINGS = (DynamicRouting, UniformRouting, RandomRouting)
