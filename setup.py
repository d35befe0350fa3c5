"""The ament_python package; versions that must be exact are in requirements/.

Nodes are in lib/<package> under their plain names, where `ros2 run` and launch look; on PATH they
have a prefix, as nobody else's `camera` or `replay` should be ours.
"""

from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

NAME = "bayes_curiosity_ros"
EXECUTABLES = sorted(glob("resource/executables/*"))
NODES = [Path(path).name for path in EXECUTABLES]
SHARED = {
    "config/robots": "*.yaml",
    "config/bringup": "*.yaml",
    "config/dds": "*.xml",
    "config/experiments": "*.yaml",
    "foxglove": "*.json",
    "launch": "*.launch.py",
    "plotjuggler": "*.xml",
    "rviz": "*.rviz",
    "security": "*.xml",
    "urdf": "*",
}

setup(
    name=NAME,
    version=Path(NAME, "version.txt").read_text().strip(),
    description="A robot arm that explores on purpose: Bayesian curiosity on ROS 2",
    license="Apache-2.0",
    author="bayes_curiosity_ros maintainers",
    maintainer="bayes_curiosity_ros maintainers",
    maintainer_email="maintainers@bayes-curiosity.example.org",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed", "version.txt"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"lib/{NAME}", EXECUTABLES),
        *((f"share/{NAME}/{kind}", glob(f"{kind}/{files}")) for kind, files in SHARED.items()),
    ],
    python_requires=">=3.11",
    install_requires=[
        "setuptools",
        "argcomplete>=3",
        "gymnasium>=1.0",
        "matplotlib>=3.6",
        "mcap>=1.5",
        "mink>=1.0",
        "mujoco>=4.0",
        "numpy>=1.26",
        "pillow>=10",
        "PyYAML>=6",
        "rosbags>=0.10",
        "safetensors>=0.4",
        "torch>=2.3",
        "tqdm>=4.60",
        "zstandard>=0.20",
    ],
    extras_require={
        "camera": ["opencv-python-headless>=4.8,<5"],
        "cluster": ["ray>=2.9"],
        "parquet": ["pyarrow>=15"],
        "sb3": ["stable-baselines3>=2.4"],
        "web": ["viser>=1.1.1,<1.2"],
        "tensorboard": ["tensorboard>=2.14"],
    },
    zip_safe=False,
    # colcon would write its own Python into programs, which does not see an activated environment.
    options={"build_scripts": {"executable": "/usr/bin/env python3"}},
    entry_points={
        "console_scripts": [
            "bayes-curiosity = bayes_curiosity_ros.cli:main",
            *(f"bayes-curiosity-{node} = {NAME}.nodes.{node}_node:main" for node in NODES),
        ],
    },
)
