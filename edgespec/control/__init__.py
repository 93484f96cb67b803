"""Which drafter, and how many tokens, at each step.

Sees contexts, finished steps and measured costs; knows no models, no tokens' meaning, no clocks.
"""

from edgespec.control.auto import Auto as Auto
from edgespec.control.costs import LONGEST as LONGEST
from edgespec.control.costs import Costs as Costs
from edgespec.control.costs import Measured as Measured
from edgespec.control.fixed import Fixed as Fixed
from edgespec.control.plain_speed import PlainSpeed as PlainSpeed
