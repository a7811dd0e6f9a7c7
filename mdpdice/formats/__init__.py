"""Models of other tools: readers, writers, and conversions from and to their objects.

Readers of files give a `Model`, whose `Model.network` is the network; conversions from objects give
a network.  What a format cannot hold is written in another way with the same value, or refused.
"""

from mdpdice.formats.arrays import from_pymdptoolbox, from_quantecon, to_mdpsolver, to_pymdptoolbox, to_quantecon
from mdpdice.formats.by_suffix import FORMATS, find_format, read_file, write_file
from mdpdice.formats.drn import read_drn, write_drn
from mdpdice.formats.exported_model import Explicit, Model
from mdpdice.formats.gymnasium_toy_text import from_gymnasium, to_gymnasium
from mdpdice.formats.lp_mps import write_lp, write_mps
from mdpdice.formats.networkx_graphs import from_networkx, write_dot
from mdpdice.formats.petsc import read_petsc, write_petsc
from mdpdice.formats.prism import write_prism
from mdpdice.formats.prism_counters import PrismProgram
from mdpdice.formats.prism_explicit import read_prism_explicit, write_prism_explicit
from mdpdice.formats.umb import read_umb, write_umb

__all__ = [
    "FORMATS", "Explicit", "Model", "PrismProgram", "find_format", "from_gymnasium", "from_networkx",
    "from_pymdptoolbox", "from_quantecon", "read_drn", "read_file", "read_petsc", "read_prism_explicit", "read_umb",
    "to_gymnasium", "to_mdpsolver", "to_pymdptoolbox", "to_quantecon", "write_dot", "write_drn", "write_file",
    "write_lp", "write_mps", "write_petsc", "write_prism", "write_prism_explicit", "write_umb",
]  # fmt: skip
