"""moveit_py of Jazzy as far as it is used, with its signatures, defaults and refusals.

It plans nothing: the trajectory is the goal, and executing it puts the controller there.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from types import ModuleType, SimpleNamespace

import numpy as np
import yaml

FINGER = "finger"


class FakeMoveIt:
    """What the fakes share, and what a test changes or looks at."""

    def __init__(self, names, group="manipulator"):
        self.names, self.group = tuple(names), group
        self.plans = self.executes = True
        self.colliding = False
        self.started: dict = {}
        self.shut_down = False
        self.velocity_scale: float | None = None
        self.checked: dict[str, float] = {}
        self.current = dict.fromkeys((*names, FINGER), 0.0) | {FINGER: 0.7}
        self.blocking: threading.Event | None = None
        self.stopped = threading.Event()
        self.arrive = lambda positions: None

    def install(self, monkeypatch):
        """Put the modules where `import` finds them."""
        kinds = _planning(self)
        for path in ("moveit", "moveit.planning", "moveit_configs_utils"):
            monkeypatch.setitem(sys.modules, path, ModuleType(path))
        for kind in kinds:
            setattr(sys.modules["moveit.planning"], kind.__name__, kind)
        sys.modules["moveit_configs_utils"].MoveItConfigsBuilder = MoveItConfigsBuilder


class RobotState:
    """Bound with property `joint_positions` and `update`; copies are deep."""

    def __init__(self, positions):
        self._positions, self.dirty = dict(positions), False

    def __deepcopy__(self, memo):
        return RobotState(self._positions)

    @property
    def joint_positions(self):
        return dict(self._positions)

    @joint_positions.setter
    def joint_positions(self, positions):
        unknown = set(positions) - set(self._positions)
        if unknown:
            raise IndexError(f"Variable {unknown} is not known to the model")
        self._positions, self.dirty = dict(positions), True

    def update(self, force=False, type="all"):
        self.dirty = False


class MoveItConfigsBuilder:
    """Its dictionary has a list of pipelines, and nothing of MoveItCpp unless a file is given."""

    def __init__(self, robot_name, robot_description="robot_description", package_name=None):
        self.package = package_name or f"{robot_name}_moveit_config"
        self.parameters = {robot_description: f"<robot name='{robot_name}'/>"}

    def robot_description(self, file_path=None, mappings=None):
        self.parameters["robot_description"] += str(mappings)
        return self

    def planning_pipelines(self, default_planning_pipeline=None, pipelines=None, load_all=True):
        self.parameters["planning_pipelines"] = pipelines
        self.parameters["default_planning_pipeline"] = pipelines[0]
        self.parameters |= {pipeline: {"planning_plugins": []} for pipeline in pipelines}
        return self

    def moveit_cpp(self, file_path=None):
        self.parameters["planning_pipelines"] = {"pipeline_names": ["ompl", "chomp"]}
        return self

    def to_moveit_configs(self):
        if self.package == "no_moveit_config":
            raise RuntimeError("package 'no_moveit_config' not found")
        return SimpleNamespace(to_dict=lambda: dict(self.parameters))


def _planning(fake: FakeMoveIt):
    class PlanRequestParameters:
        def __init__(self, moveit_cpp, ns, /):
            own = fake.started.get("plan_request_params", {})
            self.max_velocity_scaling_factor = own.get("max_velocity_scaling_factor", 1.0)
            self.max_acceleration_scaling_factor = own.get("max_acceleration_scaling_factor", 1.0)

    class PlanningComponent:
        def __init__(self, joint_model_group_name, moveit_py_instance):
            if joint_model_group_name != fake.group:
                raise RuntimeError(f"Group '{joint_model_group_name}' not found")

        def set_start_state_to_current_state(self):
            pass

        def set_goal_state(
            self,
            configuration_name=None,
            robot_state=None,
            pose_stamped_msg=None,
            pose_link=None,
            motion_plan_constraints=None,
        ):
            assert robot_state is None or not robot_state.dirty
            self.goal = robot_state

        def plan(
            self,
            single_plan_parameters=None,
            multi_plan_parameters=None,
            planning_scene=None,
            solution_selection_function=None,
            stopping_criterion_callback=None,
        ):
            chosen = single_plan_parameters
            fake.velocity_scale = 1.0 if chosen is None else chosen.max_velocity_scaling_factor
            return SimpleNamespace(trajectory=self.goal) if fake.plans else None

    class Scene:
        current_state = property(lambda self: RobotState(fake.current))

        def is_state_colliding(self, robot_state, joint_model_group_name, verbose=False):
            assert not robot_state.dirty, "update() before any collision query"
            fake.checked = robot_state.joint_positions
            return fake.colliding

    class Monitor:
        @contextlib.contextmanager
        def read_only(self):
            yield Scene()

    class ExecutionManager:
        def stop_execution(self, auto_clear=True):
            fake.stopped.set()

    class ExecutionStatus:
        def __init__(self, done):
            self.status = "SUCCEEDED" if done else "ABORTED"

        def __bool__(self):
            return self.status == "SUCCEEDED"

    class MoveItPy:
        def __init__(
            self,
            node_name="moveit_py",
            name_space="",
            launch_params_filepaths=None,
            config_dict=None,
            provide_planning_service=True,
            remappings=None,
        ):
            found = config_dict or _read(launch_params_filepaths, node_name)
            fake.started = found | {"remappings": remappings, "name_space": name_space}
            pipelines = found.get("planning_pipelines", {})
            if not (isinstance(pipelines, dict) and pipelines.get("pipeline_names")):
                raise RuntimeError("Failed to load planning pipelines from parameter server")

        def get_planning_component(self, planning_component_name):
            return PlanningComponent(planning_component_name, self)

        def get_planning_scene_monitor(self):
            return Monitor()

        def get_trajectory_execution_manager(self):
            return ExecutionManager()

        def execute(self, robot_trajectory, controllers):
            if fake.blocking is not None:
                fake.blocking.set()
                return ExecutionStatus(not fake.stopped.wait(60.0))
            if fake.executes:
                positions = robot_trajectory.joint_positions
                fake.arrive(np.array([positions[name] for name in fake.names]))
            return ExecutionStatus(fake.executes)

        def shutdown(self):
            fake.shut_down = True

    return MoveItPy, PlanningComponent, PlanRequestParameters


def _read(paths, node_name):
    """Parameters for a node of this name; by default files on the command line."""
    if paths is None:
        words = sys.argv
        paths = [words[i + 1] for i, word in enumerate(words) if word == "--params-file"]
    found: dict = {}
    for path in paths:
        with open(path) as file:
            for key, content in yaml.safe_load(file).items():
                if key.rpartition("/")[2] in (node_name, "**"):
                    found |= content["ros__parameters"]
    return found
