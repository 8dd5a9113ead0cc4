"""A search with two objectives: what it is chosen by, and what it costs."""

from search_spaces.plans.two_objectives.cost_rules import NO_COST as NO_COST
from search_spaces.plans.two_objectives.cost_rules import Cost as Cost
from search_spaces.plans.two_objectives.cost_rules import refuse_beside_cost as refuse_beside_cost
from search_spaces.plans.two_objectives.cost_rules import refuse_front as refuse_front
from search_spaces.plans.two_objectives.cost_rules import refuse_same_cost as refuse_same_cost
