"""The table of documented commands: how each is run, or checked where it cannot be run.

To adapt it: a new command needs a row in WAYS, a renamed option a change in the texts above it.
"""

from __future__ import annotations

from support.shell import Way
from support.ways_checked import (
    activate,
    benchmark,
    beside_ros,
    colcon,
    discovery,
    make,
    pinned,
    pre_commit,
    pytest_file,
    realsense_driver,
    rviz,
    secured,
    sourced_by_colcon,
    vendor_wheel,
)
from support.ways_commands import (
    RECORDED,
    SEEN,
    check_replay,
    command,
    copied,
    experiment,
    plugged_in,
    understood,
    up,
    view,
)
from support.ways_graph import (
    arm_service,
    client,
    demonstrate_service,
    describe_parameter,
    launch,
    lifecycle,
    node,
    ros2_bag,
)

CLI = "bayes-curiosity"
# Options that make commands short, and settings for them.
PREPARE = "--demonstrations 200 --imitation-epochs 1"
PREPARE_SEEN = "--demonstrations 64 --embedding-epochs 1 --imitation-epochs 1"
TABLE1 = "--task mountaincar --learner trpo --method none --seeds 0 --timesteps 2000"
TABLE1 += " --workers 1 --no-plots"
CURVES = "--config HERE/small_curves.yaml --task grasp --method curiosity none --seeds 0"
CURVES += " --workers 1 --no-plots --no-videos"
ABLATIONS = "--config HERE/small_ablations.yaml --seeds 0 --timesteps 200 --workers 1 --no-plots"
FILES = {
    "short.yaml": """
/**/learner:
  ros__parameters:
    iteration_steps: 100
""",
    "small_curves.yaml": """
points: 2
tasks:
  grasp:
    learners: {trpo: {timesteps: 200, parallel: 2, min_steps: 100}}
    demonstrations: {count: 60}
    imitation: {epochs: 1}
    embedding: {max_epochs: 1}
    methods: {curiosity: {weight: 0.1}, none: }
""",
    "small_ablations.yaml": """
extends: small_curves.yaml
tasks:
  grasp:
    methods: {random_encoder: {like: curiosity, embedding: random}}
panels: {encoder: [random_encoder]}
""",
}
# The first that fits the whole command counts. What no pattern fits fails the test.
WAYS: dict[str, Way] = {
    rf"{CLI} prepare reach( .*)?": command(PREPARE),
    rf"{CLI} prepare visual_reach.*": command(PREPARE_SEEN),
    rf"{CLI} up --task visual_reach": up(
        "--timesteps 60 --output HERE/output/seen", after=SEEN, folder="seen"
    ),
    rf"{CLI} up --web": understood,  # test_browser.py runs it
    rf"{CLI} up --task near_reach .*": plugged_in,
    rf"{CLI} up --task parked_reach .*": understood,
    rf"{CLI} up --task reach --learner sac .*": understood,
    rf"{CLI} judge visual_reach --bag BAG .*": understood,  # of a bag with marked episodes
    rf"{CLI} remember reach --bag BAG .*": understood,  # of a bag that a person drove
    rf"{CLI} explore( --resume.*)?": understood,
    rf"{CLI} up --log tensorboard": understood,
    rf"{CLI} up --resume( .*)?": up("--timesteps 300", after=RECORDED),
    rf"{CLI} up( --task reach| --bonus curiosity| --record)*": up("--record --timesteps 150"),
    rf"{CLI} surface": command(),
    rf"{CLI} view .*": view,
    rf"{CLI} demos .*--check.*": command("--check 3"),
    rf"{CLI} demos \w+": command("--count 60"),
    rf"{CLI} demonstrate .*": understood,
    rf"{CLI} bag repair BAG NEW": command(),
    rf"{CLI} bag (info|episodes|export) BAG.*": command(),
    rf"{CLI} replay BAG --check": check_replay,
    rf"{CLI} replay BAG --redrive": command("--episodes 1"),
    rf"{CLI} replay BAG.*": command("--episodes 1"),
    rf"{CLI} map --bag BAG.*": command(),
    rf"{CLI} score --bag BAG --model output/run/\w+\.safetensors": command(),
    rf"{CLI} embed --bag .*": command("--max-epochs 1"),
    rf"{CLI} experiment table1.*": experiment(TABLE1),
    rf"{CLI} experiment curves.*": experiment(CURVES),
    rf"{CLI} experiment ablations.*": experiment(ABLATIONS),
    rf"{CLI} experiment (arm|exploration|memory|parked|tune).*": understood,
    r"(bayes-curiosity-)?curiosity|ros2 run bayes_curiosity_ros \w+( .*)?": node,
    r"ros2 launch realsense2_camera .*": realsense_driver,
    r"ros2 launch .*": launch,
    r"ros2 service call /demonstrate/.*": demonstrate_service,
    r"ros2 service call /(arm|operator)/.*": arm_service,
    r"ros2 param describe .*": describe_parameter,
    r"ros2 lifecycle set .*": lifecycle,
    r"ros2 bag (info|play|convert)": ros2_bag,
    r"python client\.py": client,
    r"python -m benchmarks\.\w+( .*)?": benchmark,
    r"pytest .*": pytest_file,
    r"source \.venv/bin/activate": activate,
    r"source install/setup\.bash": sourced_by_colcon,
    r"(colcon build|rosdep install) .*": colcon,
    r"python3 -m venv .*|source \.venv-ros/bin/activate": beside_ros,
    r"make( \w+=\S+)? [\w-]+": make,
    r"export ROS_AUTOMATIC_DISCOVERY_RANGE=.*": discovery,
    r"(ros2 security|export ROS_SECURITY_).*": secured,
    r"pip install (mcap .*|tensorboard)": pinned,
    r"pip install .*": vendor_wheel,
    r"rviz2 .*": rviz,
    r"cp -r .*": copied,
    r"pre-commit install": pre_commit,
}
