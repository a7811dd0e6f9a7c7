"""Sphinx configuration.

Neither the build nor the pages need a network: no intersphinx, theme files are local, and formulas
are turned into MathML, which browsers show by themselves, instead of being left to a script from afar.
"""

from __future__ import annotations

from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING

from docutils import nodes
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

project = "mdpdice"
author = "mdpdice maintainers"
project_copyright = f"2026, {author}"
version = release = installed_version("mdpdice")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
default_role = "literal"  # `name` in a docstring is a parameter, a variable or a formula
add_module_names = False

html_theme = "furo"
html_title = f"mdpdice {release}"

html_math_renderer = "mathml"
myst_enable_extensions = ["deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autosummary_generate = True
numpydoc_show_class_members = False  # autodoc lists them already
numpydoc_xref_param_type = False  # types in docstrings say shape and unit; they are prose, not links

doctest_global_setup = "from mdpdice import *"
trim_doctest_flags = True

# The -n of the build finds cross-references that lead nowhere.  Types in signatures that belong to
# other projects cannot lead anywhere without a network, and type variables have no page.
nitpick_ignore_regex = [
    (r"py:.*", r"(attrs?|click|collections|decimal|enum|fractions|networkx|nx|np|numpy|scipy)\..*"),
    (r"py:.*", r"(highspy|pathlib|pulp|threading|types|typing)\..*"),
    (r"py:.*", r"(ArrayLike|Callable|Fraction|Iterable|Iterator|Mapping|NDArray|Path|Sequence|csr_array)"),
    (r"py:(class|obj)", r"(~?mdpdice\..*\.)?_?[A-Z][A-Za-z]?(_co|_contra)?"),
]


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(convert(node.astext(), display="block") + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
