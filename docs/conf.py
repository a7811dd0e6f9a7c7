"""Sphinx configuration.

The reference is written by hand for the names of `mdpdice` itself; what no page describes yet is
appended to two of them, so that every public name is documented (`complete_reference`).

Neither the build nor the pages need a network: no intersphinx, theme files are local, and formulas
are turned into MathML, which browsers show by themselves, instead of being left to a script from afar.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version as installed_version
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

import mdpdice

if TYPE_CHECKING:
    from sphinx import addnodes
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

sys.path.insert(0, str(Path(__file__).parent))  # pages.py and pictures.py are extensions

project = "mdpdice"
author = "mdpdice maintainers"
project_copyright = f"2026, {author}"
version = release = installed_version("mdpdice")

extensions = [
    "myst_parser",
    "numpydoc",
    "pages",
    "pictures",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_pages"]
default_role = "py:obj"  # `name` in a docstring is a link where it can be one, else code: see find_name
add_module_names = False

html_theme = "furo"
html_static_path = ["_static"]
html_extra_path = ["_pages"]  # the games that can be played
html_css_files = ["wide.css"]
html_title = f"mdpdice {release}"

# What is copied can be pasted: prompts are left out, and so is what a command printed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_math_renderer = "mathml"
myst_enable_extensions = ["deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autosummary_generate = True
numpydoc_show_class_members = False  # autodoc lists them already
numpydoc_xref_param_type = False  # types in docstrings say shape and unit; they are prose, not links

# Examples in docstrings use the names of their module; the tests run them (tests/packaging).  Here only the
# pages are run, whose examples are explicit.
doctest_test_doctest_blocks = ""
doctest_default_flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
trim_doctest_flags = True

# The -n of the build finds cross-references that lead nowhere.  Types in signatures that belong to
# other projects cannot lead anywhere without a network, and type variables have no page.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(attrs?|click|collections|contextlib|decimal|enum|fractions|importlib|networkx|nx|np|npt|numpy|scipy)\..*",
    ),
    (r"py:.*", r"(concurrent|highspy|matplotlib|os|pandas|pathlib|pd|pulp|random|threading|types|typing|t)\..*"),
    (r"py:class", r"array(\.array)?|mdpdice\.backend\.Solve"),  # array.array, a type variable
    (r"py:class", r"mdpdice\.numerics\.kernels\..*"),  # what compiled loops take
    (r"py:class", r"[A-Z]\w*"),  # an alias in a signature; pages write mdpdice.Name
    (r"py:.*", r"(ArrayLike|Callable|Fraction|Iterable|Iterator|Mapping|NDArray|Path|Sequence|csr_array)"),
    (r"py:(class|obj)", r"(~?mdpdice\..*\.)?_?[A-Z][A-Za-z]?(_co|_contra)?"),
]

# Signatures of attrs classes name types by their last part, and two games may both have `Rules`; then there is no link.
suppress_warnings = ["ref.python"]


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(convert(node.astext(), display="block") + "</div>\n")
    raise nodes.SkipNode


# --- The reference: nothing public is left out ---

REFERENCE = Path(__file__).parent / "reference"
COMPLETED = ("reference/games", "reference/modules")


def modules() -> list[str]:
    """Return every module of the library that users may want to read of."""
    # The folders of the last two lie beside the library in a checkout.
    packages = (mdpdice, importlib.import_module("mdpdice.games"), importlib.import_module("mdpdice.solvers"))
    found = {
        module.name
        for package in packages
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    }
    # The command line is described by what it does (page "The command line"), a solver by the class that it offers;
    # compiled loops are not an interface.
    skipped = re.compile(r"\._|\.kernels\b|^mdpdice\.cli\b|^mdpdice\.solvers\.\w+\.(?!solver$)")
    return sorted(name for name in found if not skipped.search(name))


def public_names(module: str) -> list[str]:
    """Return what a module is used for: what its `__all__` says, or the documented names that it defines."""
    found = importlib.import_module(module)
    if hasattr(found, "__all__"):
        return list(found.__all__)
    documented = {name for holder, name in ModuleAnalyzer.for_module(module).find_attr_docs() if not holder}
    return [
        name
        for name, value in vars(found).items()
        if not name.startswith("_")
        and (name in documented or (getattr(value, "__module__", "") == module and getattr(value, "__doc__", None)))
    ]


def home(name: str) -> str:
    """Return the full name that an object has where it is defined."""
    module, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        # An object says the module of its class, so look for the module that has it.
        holders = (one for one in modules() if attribute in public_names(one))
        return f"{next(holders)}.{attribute}" if module == "mdpdice" else name
    return f"{getattr(found, '__module__', module)}.{getattr(found, '__qualname__', attribute)}"


def written() -> tuple[set[str], set[str]]:
    """Return the modules and the names (under `mdpdice` or where they are defined) of the handwritten pages."""
    whole: set[str] = set()
    names: set[str] = set()
    for page in REFERENCE.glob("*.rst"):
        text = page.read_text(encoding="utf-8")
        whole.update(re.findall(r"^\.\. automodule:: (\S+)", text, re.MULTILINE))
        for name in re.findall(r"^\.\. auto(?:class|function|data|exception):: (\S+)", text, re.MULTILINE):
            full = name if name.startswith("mdpdice.") else f"mdpdice.{name}"
            names |= {full, home(full)}
    with_members = {
        name
        for page in REFERENCE.glob("*.rst")
        for name in re.findall(
            r"^\.\. automodule:: (\S+)\n   :members:", page.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    for module in with_members:
        names |= {f"{module}.{name}" for name in public_names(module)}
    return whole, names


def directives(module: str, names: set[str]) -> Iterator[str]:
    """Yield the directives for the public names of a module that are not in `names` yet, and add them."""
    found = importlib.import_module(module)
    documented = ModuleAnalyzer.for_module(module).find_attr_docs()
    for name in public_names(module):
        full, value = f"{module}.{name}", getattr(found, name)
        # An object says the module of its class; only classes and functions are "defined elsewhere".
        original = value.__module__ if inspect.isclass(value) or inspect.isroutine(value) else module
        if full in names or (original != module and str(original).startswith("mdpdice.")):
            continue  # defined elsewhere, and described there
        names.add(full)
        if hasattr(value, "__origin__") or isinstance(value, UnionType):  # an alias, such as tuple[int, ...]
            text = " ".join(documented.get(("", name), []))
            # Not indexed: two games may both call their states `State`.
            yield f".. py:data:: {name}\n   :module: {module}\n   :no-index:\n\n   ``{value}``\n\n   {text}\n"
        elif inspect.isclass(value):
            yield f".. autoclass:: {full}\n   :members:\n"
        elif callable(value):
            yield f".. autofunction:: {full}\n"
        elif ("", name) in documented:
            yield f".. autodata:: {full}\n   :no-value:\n"
        elif not hasattr(found, "__path__"):  # a package only hands on the constants of its modules
            # Functions say where they are in memory, which no reader needs.
            shown = "" if " at 0x" in repr(value) else f"   ``{value!r}``\n"
            yield f".. py:data:: {name}\n   :module: {module}\n\n{shown}"


def complete_reference(_app: Sphinx, page: str, source: list[str]) -> None:
    """Append the modules that no page describes: the games, or all others."""
    if page not in COMPLETED:
        return
    whole, names = written()
    parts = [source[0]]
    for module in modules():
        is_game = module.startswith("mdpdice.games.")
        if is_game != (page == "reference/games") or module in ("mdpdice.games", "mdpdice.solvers"):
            continue
        items = list(directives(module, names))
        if module in whole and not items:
            continue
        title = f"``{module}``"
        parts += ["", title, "-" * len(title), ""]
        if module not in whole:
            parts += [f".. automodule:: {module}", "   :no-members:", ""]
        parts += items
    source[0] = "\n".join(parts)


def find_name(
    _app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    """Resolve a `name` in a docstring that Python's own scopes did not: by its end, if that is unique, or as code."""
    if node.get("reftype") != "obj":
        return None
    target = node["reftarget"]
    domain = env.domains.python_domain
    ends = {
        entry.node_id: (name, entry)
        for name, entry in domain.objects.items()
        if f".{name}".endswith(f".{target}")
        and ("." in target or entry.objtype in ("class", "function", "exception", "data"))
    }
    if len(ends) != 1:
        return content
    ((name, entry),) = ends.values()
    return make_refnode(_app.builder, node["refdoc"], entry.docname, entry.node_id, content, name)


ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[([~\w.]+)\]\]")


def shorten_signature(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Write array types, and defaults that attrs makes, as people would."""
    if signature is not None:
        signature = ARRAY.sub(r"NDArray[\1]", signature).replace(" = NOTHING", " = ...")
    return signature, None if returns is None else ARRAY.sub(r"NDArray[\1]", returns)


NAVIGATION: dict[tuple[str, frozenset[tuple[str, object]]], str] = {}


def reuse_navigation(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Work the navigation out once for all pages of source in a folder: no table of contents has any of them.

    The theme wants the whole table on every page, and to copy it took longer than everything else of such a page.
    """
    if not page.startswith("_modules/"):
        return
    work_out, folder = context["toctree"], page.rpartition("/")[0]

    def known(**options: object) -> str:
        key = folder, frozenset(options.items())
        if key not in NAVIGATION:
            NAVIGATION[key] = work_out(**options)
        return NAVIGATION[key]

    context["toctree"] = known


REMOTE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"'](?:https?:)?//[^>]*>")


def refuse_remote(app: Sphinx, failed: Exception | None) -> None:
    """Fail if a page would load a script, a style or an image from another host."""
    if failed is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        found = REMOTE.search(page.read_text(encoding="utf-8"))
        if found:
            msg = f"{page.relative_to(app.outdir)} loads something from another host: {found[0]}"
            raise ExtensionError(msg)


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("build-finished", refuse_remote)
    app.connect("html-page-context", reuse_navigation, priority=400)  # the theme asks at 500
    app.connect("missing-reference", find_name)
    app.connect("source-read", complete_reference)
    app.connect("env-get-outdated", lambda *_: list(COMPLETED))
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
