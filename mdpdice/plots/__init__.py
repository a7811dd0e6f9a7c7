"""Pictures of games, solutions and policies, drawn with matplotlib (``pip install mdpdice[plot]``).

Every function draws into the `ax` that it is given, or into a figure of its own, and returns the
``matplotlib.axes.Axes``; ``ax.figure`` is the figure, and `save_picture` writes it to a file.  pyplot is not used:
figures belong to whoever holds them, and no window or display is needed.

A *coordinate* (`x`, `y`, `by`, `over`) says where a state is drawn.  It is a name (of a counter, or of a field of the
state; ``"state"`` for a state that is a number), or a function from states to numbers; a map without `y` is a strip.
Other arguments that mean the same everywhere:

* `where` leaves states out: a function from states to bool, or a mapping from names to the values that they must have.
  The solution of a lattice may have too many states to be drawn all; a mapping picks those that are computed.
* `group` is a function from actions to what is drawn of them, such as ``lambda action: type(action).__name__``.  By
  default every action has a colour, and the rare ones share one where there are more than seven.
* `steps_left` are the decisions left, for what depends on them; by default the whole horizon.
* `limits` are the numbers of the first and the last colour, so that maps can be compared.
* `label` and `unit` say what numbers are, and what they are measured in.
* `frame` are ``xlabel``, ``ylabel``, ``title`` and ``ax``, see `Frame`.

A `GameError` says that no state has the coordinates, that several are at one point (narrow them by `where`), or that a
function raised.

Colours are those of M. Okabe and K. Ito (*Color universal design*, 2008), which people with
colour-vision deficiencies can tell apart, and the maps cividis and PuOr for numbers; nothing is shown by colour alone
where shapes, hatches or numbers can show it too.
"""

try:
    import matplotlib as mpl  # noqa: F401 - whether it is there
except ModuleNotFoundError as error:
    if error.name != "matplotlib":
        raise
    from mdpdice.errors import MissingPackageError

    raise MissingPackageError("pictures need matplotlib: pip install mdpdice[plot]", package="matplotlib") from error

from mdpdice.plots.canvas import SUFFIXES, Frame, save_picture
from mdpdice.plots.cards import draw_card
from mdpdice.plots.convergence import bound_chart, capped_solutions
from mdpdice.plots.curves import stage_curve, value_curve
from mdpdice.plots.drawings import draw_network
from mdpdice.plots.maps import policy_difference, policy_map, region_map, threshold_map, value_map
from mdpdice.plots.totals import outcome_chart, threshold_bars

__all__ = ["SUFFIXES", "Frame", "bound_chart", "capped_solutions", "draw_card", "draw_network"]
__all__ += ["outcome_chart", "policy_difference", "policy_map", "region_map", "save_picture", "stage_curve"]
__all__ += ["threshold_bars", "threshold_map", "value_curve", "value_map"]
