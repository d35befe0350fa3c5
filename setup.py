"""The ament_python package; versions that must be exact are in requirements/."""

from glob import glob

from setuptools import find_packages, setup

NAME = "bayes_curiosity_ros"

setup(
    name=NAME,
    version="0.1.0",
    description="A robot arm that explores on purpose: Bayesian curiosity on ROS 2",
    license="Apache-2.0",
    author="bayes_curiosity_ros maintainers",
    maintainer="bayes_curiosity_ros maintainers",
    maintainer_email="maintainers@bayes-curiosity.example.org",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *(
            (f"share/{NAME}/config/{kind}", glob(f"config/{kind}/*.yaml"))
            for kind in ("robots", "bringup", "experiments")
        ),
        (f"share/{NAME}/launch", glob("launch/*.launch.py")),
        (f"share/{NAME}/rviz", glob("rviz/*.rviz")),
        (f"share/{NAME}/urdf", glob("urdf/*")),
    ],
    python_requires=">=3.11",
    install_requires=[
        "setuptools",
        "gymnasium>=1.0",
        "lz4>=4",
        "matplotlib>=3.6",
        "mcap>=1.2",
        "mink>=1.0",
        "mujoco>=4.0",
        "numpy>=1.26,<2.3",
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
    },
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "bayes-curiosity = bayes_curiosity_ros.cli:main",
            "arm = bayes_curiosity_ros.nodes.arm_node:main",
            "camera = bayes_curiosity_ros.nodes.camera_node:main",
            "curiosity = bayes_curiosity_ros.nodes.curiosity_node:main",
            "demonstrate = bayes_curiosity_ros.nodes.demonstrate_node:main",
            "description = bayes_curiosity_ros.nodes.description_node:main",
            "detector = bayes_curiosity_ros.nodes.detector_node:main",
            "learner = bayes_curiosity_ros.nodes.learner_node:run",
            "recorder = bayes_curiosity_ros.nodes.recorder_node:main",
            "replay = bayes_curiosity_ros.nodes.replay_node:main",
        ],
    },
)
