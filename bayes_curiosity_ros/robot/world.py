"""The simulated cell: the arm of a URDF on a table, a cylinder, and a fixed camera."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from bayes_curiosity_ros.errors import ModelFileError
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.robot.composition import (
    CONTACT_CLASSES,
    MOVING_GROUP,
    OBJECT,
    STILL_GROUP,
    TOUCHED_GROUP,
    add_camera,
    add_contact_sensors,
    add_excludes,
    add_gripper_servos,
    add_joint_servos,
    add_object,
    add_table,
    fuse,
    set_options,
    sort_geoms,
    weld_others,
    without_group,
)
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.description import Description, Joint


@dataclass(frozen=True)
class World:
    """Two compiled models with the same joints, and where to find things in them.

    Attributes:
        model: for physics: what touches, and nothing that would only cost time.
        scene: for cameras and TF: what is seen, every link with a body of its own.
        joints: the controlled joints.
        fingers: the driven finger joints, empty for a bare flange.
        joint_qpos: addresses of the joints in qpos; `joint_dof` those in qvel.
        gripper_qpos: addresses of driven and passive finger joints, in that order.
        object_qpos: address of the object's free joint, None when it is a marker.
        contact_sensors: addresses in sensordata of the contact counts, in the order of
            `CONTACT_CLASSES`; -1 where that class cannot occur.
    """

    config: RobotConfig
    description: Description
    model: mujoco.MjModel
    scene: mujoco.MjModel
    joints: tuple[Joint, ...]
    fingers: tuple[Joint, ...]
    joint_qpos: np.ndarray
    joint_dof: np.ndarray
    gripper_qpos: np.ndarray
    object_qpos: int | None
    contact_sensors: np.ndarray
    end_effector_body: int

    @property
    def lower_rad(self) -> np.ndarray:
        """Lower joint limits, -inf where continuous."""
        return np.array([joint.lower_rad for joint in self.joints])

    @property
    def upper_rad(self) -> np.ndarray:
        """Upper joint limits, inf where continuous."""
        return np.array([joint.upper_rad for joint in self.joints])

    @property
    def max_velocity_rad_s(self) -> np.ndarray:
        """Joint velocity limits of the URDF."""
        return np.array([joint.max_velocity_rad_s for joint in self.joints])

    @property
    def max_delta_rad(self) -> np.ndarray:
        """Largest commanded change of each joint in one control step."""
        fraction = self.config.arm.speed_fraction
        return fraction * self.max_velocity_rad_s * self.config.world.control_step_s


def build_world(config: RobotConfig, clearance_m: float = 0.0) -> World:
    """Compose and compile the cell.

    Args:
        clearance_m: distance below which two parts already count as touching; above zero only
            for checking poses, not for physics.

    Raises:
        ModelFileError: MuJoCo cannot load the URDF; the message has its reason.
        ConfigError: the configuration names joints or links the URDF does not have.
    """
    arm = config.arm
    srdf = None if arm.srdf is None else find("urdf", arm.srdf)
    description = Description.load(find("urdf", arm.urdf), srdf)
    joints = description.select(arm.joints)
    fingers = description.select(arm.gripper.fingers) if arm.gripper else ()
    description.require_link(arm.end_effector)

    spec = _load(description)
    set_options(spec, config)
    sort_geoms(spec, description, clearance_m, config.world.arm_brightness)
    welded = weld_others(spec, config)
    add_joint_servos(spec, config, joints)
    add_gripper_servos(spec, config, fingers)
    add_table(spec, config, clearance_m)
    add_object(spec, config, clearance_m)
    add_camera(spec, config.world.camera)
    add_contact_sensors(spec, config, description)
    scene = _compile(without_group(spec, TOUCHED_GROUP), description)
    physics = without_group(spec, STILL_GROUP, MOVING_GROUP)
    fuse(physics, welded)
    add_excludes(physics, description)
    model = _compile(physics, description)
    world = _index(model, scene, config, description, joints, fingers)
    _tune_servos(world)
    return world


def link_of(model: mujoco.MjModel, geom: int) -> str:
    """The link that a geom belongs to, by the URDF; welded links have no body of their own."""
    return str(model.geom(geom).name).split("/")[0]


def _load(description: Description) -> mujoco.MjSpec:
    try:
        return mujoco.MjSpec.from_file(str(description.urdf))
    except (ValueError, mujoco.FatalError) as error:
        raise ModelFileError(f"{description.urdf}: MuJoCo cannot load it ({error})") from error


def _compile(spec: mujoco.MjSpec, description: Description) -> mujoco.MjModel:
    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelFileError(f"{description.urdf}: MuJoCo cannot compile it ({error})") from error


def _tune_servos(world: World) -> None:
    """Critically damped joints, for the inertia that each one moves at the ready pose."""
    model, arm = world.model, world.config.arm
    data = mujoco.MjData(model)
    data.qpos[world.joint_qpos] = arm.ready_rad
    mujoco.mj_forward(model, data)
    inertia = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    for servo, dof in enumerate(world.joint_dof):
        stiffness = inertia[dof, dof] * arm.servo_rad_s**2
        damping = 2.0 * inertia[dof, dof] * arm.servo_rad_s
        model.actuator_gainprm[servo, 0] = stiffness
        model.actuator_biasprm[servo, 1:3] = -stiffness, -damping


def _index(
    model: mujoco.MjModel,
    scene: mujoco.MjModel,
    config: RobotConfig,
    description: Description,
    joints: tuple[Joint, ...],
    fingers: tuple[Joint, ...],
) -> World:
    gripper = config.arm.gripper
    finger_names = (*gripper.fingers, *gripper.tips) if gripper else ()
    names = [model.sensor(i).name for i in range(model.nsensor)]
    return World(
        config=config,
        description=description,
        model=model,
        scene=scene,
        joints=joints,
        fingers=fingers,
        joint_qpos=np.array([model.joint(joint.name).qposadr[0] for joint in joints]),
        joint_dof=np.array([model.joint(joint.name).dofadr[0] for joint in joints]),
        gripper_qpos=np.array([model.joint(name).qposadr[0] for name in finger_names], dtype=int),
        object_qpos=int(model.joint(OBJECT).qposadr[0]) if config.world.object.tangible else None,
        contact_sensors=np.array(
            [model.sensor(name).adr[0] if name in names else -1 for name in CONTACT_CLASSES]
        ),
        end_effector_body=model.body(config.arm.end_effector).id,
    )
