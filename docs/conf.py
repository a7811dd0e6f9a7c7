"""Sphinx configuration.  The build needs no network: no intersphinx, no maths renderer, local theme files."""

from __future__ import annotations

from importlib.metadata import version as installed_version

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

# Formulas are written as text: a page must read well in the source, in a terminal and offline.
myst_enable_extensions = ["deflist", "fieldlist"]
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
    (r"py:.*", r"(attrs?|click|collections|fractions|highspy|networkx|np|numpy|pulp|scipy|typing|types)\..*"),
    (r"py:.*", r"(ArrayLike|Callable|Fraction|Iterable|Iterator|Mapping|NDArray|Path|Sequence|csr_array)"),
    (r"py:(class|obj)", r"(~?mdpdice\..*\.)?_?[A-Z][A-Za-z]?(_co|_contra)?"),
]
