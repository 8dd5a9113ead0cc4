"""Tables and figures that a sweep is for, as values: what is rebuilt from its records.

A declaration is a plain value that loads neither torch nor ray, so that manifests hold it and
aggregation reads it.
"""

from search_spaces.tables.ablation import AblationTable as AblationTable
from search_spaces.tables.components import ComponentsTable as ComponentsTable
from search_spaces.tables.confirmation import ConfirmationTable as ConfirmationTable
from search_spaces.tables.curves import CurvesFigure as CurvesFigure
from search_spaces.tables.declared import DeclaredTable as DeclaredTable
from search_spaces.tables.effects import EffectsTable as EffectsTable
from search_spaces.tables.evaluations import EvaluationsTable as EvaluationsTable
from search_spaces.tables.front import FrontTable as FrontTable
from search_spaces.tables.grid import GridCell as GridCell
from search_spaces.tables.grid import GridRow as GridRow
from search_spaces.tables.grid import GridTable as GridTable
from search_spaces.tables.kinds import TABLES as TABLES
from search_spaces.tables.kinds import RecordedTable as RecordedTable
from search_spaces.tables.kinds import Table as Table
from search_spaces.tables.kinds import kind_of as kind_of
from search_spaces.tables.kinds import own_kinds as own_kinds
from search_spaces.tables.own import OwnTable as OwnTable
from search_spaces.tables.own import UnknownTable as UnknownTable
from search_spaces.tables.published import PublishedRow as PublishedRow
from search_spaces.tables.published import PublishedTable as PublishedTable
from search_spaces.tables.sensitivity import SensitivityTable as SensitivityTable
