"""What `import bayes_curiosity_ros` offers, what it costs, and that there is one version."""

import ast
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import bayes_curiosity_ros

ROOT = Path(__file__).parents[1]
OPTIONAL = {"BonusVecEnvWrapper": "stable_baselines3"}


@pytest.mark.parametrize("name", bayes_curiosity_ros.__all__)
def test_every_name_can_be_imported(name):
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    assert name in dir(bayes_curiosity_ros)
    assert getattr(bayes_curiosity_ros, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'dance'"):
        _ = bayes_curiosity_ros.dance


def test_importing_the_package_loads_neither_torch_nor_numpy():
    code = "import sys, bayes_curiosity_ros; print({'torch', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_type_checkers_see_the_same_names_in_the_same_places():
    tree = ast.parse(Path(bayes_curiosity_ros.__file__).read_text())
    seen = {
        alias.name: imported.module.removeprefix("bayes_curiosity_ros.")
        for imported in ast.walk(tree)
        if isinstance(imported, ast.ImportFrom) and imported.module.startswith("bayes_")
        for alias in imported.names
        if alias.asname == alias.name
    }
    assert seen == bayes_curiosity_ros.HOMES
    assert (ROOT / "bayes_curiosity_ros/py.typed").exists()


@pytest.mark.parametrize("file", ["package.xml", "bayes_curiosity_interfaces/package.xml"])
def test_package_xml_has_the_one_version(file):
    version = ElementTree.parse(ROOT / file).findtext("version")
    assert version == bayes_curiosity_ros.__version__


def test_the_citation_has_the_one_version_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == bayes_curiosity_ros.__version__
    assert citation["references"][0]["title"].startswith("Bayesian Curiosity")
