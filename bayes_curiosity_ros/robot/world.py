"""The simulated cell: the arm of a URDF on a table, a cylinder, and a fixed camera.

Geoms fall into groups: what the camera sees, still or moving, and what only touches.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from bayes_curiosity_ros.errors import ModelFileError
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.robot.config import CameraConfig, RobotConfig
from bayes_curiosity_ros.robot.description import Description, Joint

STILL_GROUP = 1
MOVING_GROUP = 2
TOUCHED_GROUP = 3
SEEN = np.array([0, 1, 1, 0, 0, 0], dtype=np.uint8)
TABLE, OBJECT, CAMERA = "table", "object", "camera"
CONTACT_CLASSES = ("self", "scene", "object")
GRAVITY_M_S2 = 9.81
FLOOR_HEIGHT_M = -0.72
SKY = (0.60, 0.68, 0.76)
# Bits of contype / conaffinity: robot parts touch each other, the table and the object.
ROBOT_BIT, SCENE_BIT = 1, 2


@dataclass(frozen=True)
class World:
    """Two compiled models, equal but for their geoms, and where to find things in them.

    Attributes:
        model: for physics: what touches, and nothing that would only cost time.
        scene: for cameras: what is seen.
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
    _weld_others(spec, config)
    _set_options(spec, config)
    _sort_geoms(spec, description, clearance_m, config.world.arm_brightness)
    _add_joint_servos(spec, config, joints)
    _add_gripper_servos(spec, config, fingers)
    _add_excludes(spec, description)
    _add_table(spec, config, clearance_m)
    _add_object(spec, config, clearance_m)
    _add_camera(spec, config.world.camera)
    _add_contact_sensors(spec, config, description)
    scene = _compile(_without_group(spec, TOUCHED_GROUP), description)
    model = _compile(_without_group(spec, STILL_GROUP, MOVING_GROUP), description)
    world = _index(model, scene, config, description, joints, fingers)
    _tune_servos(world)
    return world


def _load(description: Description) -> mujoco.MjSpec:
    try:
        return mujoco.MjSpec.from_file(str(description.urdf))
    except (ValueError, mujoco.FatalError) as error:
        raise ModelFileError(f"{description.urdf}: MuJoCo cannot load it ({error})") from error


def _without_group(spec: mujoco.MjSpec, *groups: int) -> mujoco.MjSpec:
    """A copy without the geoms of these groups, unless they can touch as well as be seen."""
    copy = spec.copy()
    for geom in list(copy.geoms):
        if geom.group in groups and (geom.contype == 0 or geom.group == TOUCHED_GROUP):
            copy.delete(geom)
    return copy


def _compile(spec: mujoco.MjSpec, description: Description) -> mujoco.MjModel:
    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelFileError(f"{description.urdf}: MuJoCo cannot compile it ({error})") from error


def _weld_others(spec: mujoco.MjSpec, config: RobotConfig) -> None:
    """Fix the joints that nobody asked for, where they are at zero."""
    gripper = config.arm.gripper
    wanted = {*config.arm.joints, *((*gripper.fingers, *gripper.tips) if gripper else ())}
    for joint in list(spec.joints):
        if joint.name not in wanted:
            spec.delete(joint)


def _set_options(spec: mujoco.MjSpec, config: RobotConfig) -> None:
    spec.option.timestep = config.world.physics_step_s
    spec.option.gravity = [0.0, 0.0, 0.0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    # Every link has a few geoms at most: a tree of bounding boxes costs more than it saves.
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    # Elliptic cones with stiff friction: a held cylinder does not creep out of the fingers.
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    spec.visual.global_.offwidth = 1280
    spec.visual.global_.offheight = 960
    spec.visual.map.znear = 0.01
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=SKY,
        rgb2=SKY,
        width=64,
        height=64,
    )
    light = config.world.light
    spec.visual.headlight.ambient = [light.ambient] * 3
    spec.visual.headlight.diffuse = [0.0, 0.0, 0.0]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]
    spec.stat.extent = 1.5
    spec.stat.center = [0.35, 0.0, 0.2]
    spec.worldbody.add_light(
        name="lamp",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0.5, -0.5, 2.0],
        dir=light.direction,
        diffuse=[light.diffuse] * 3,
    )


def _sort_geoms(
    spec: mujoco.MjSpec, description: Description, clearance_m: float, brightness: float
) -> None:
    mounted = {description.root} | {
        body.name for body in spec.body(description.root).bodies if not body.joints
    }
    counts: dict[str, int] = {}
    for geom in spec.geoms:
        link = geom.parent.name
        counts[link] = counts.get(link, 0) + 1
        geom.name = f"{link}/{counts[link]}"
        if geom.contype == 0:
            geom.group = STILL_GROUP if link in mounted else MOVING_GROUP
            geom.rgba[:3] = np.clip(geom.rgba[:3] * brightness, 0.0, 1.0)
            continue
        geom.group = TOUCHED_GROUP
        geom.margin = clearance_m / 2  # MuJoCo adds the margins of a pair
        geom.contype = geom.conaffinity = ROBOT_BIT
        if link not in mounted:  # the base stands on the table: that is no contact
            geom.contype = geom.conaffinity = ROBOT_BIT | SCENE_BIT


def _add_joint_servos(spec: mujoco.MjSpec, config: RobotConfig, joints: tuple[Joint, ...]) -> None:
    """Position servos; the arm's controllers cancel its weight, so gravity is left out."""
    arm = config.arm
    for joint, armature, friction in zip(joints, arm.armature_kg_m2, arm.friction_nm, strict=True):
        element = spec.joint(joint.name)
        element.armature = armature
        element.frictionloss = friction
        servo = spec.add_actuator(
            name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
        servo.set_to_position(kp=1.0, kv=1.0)  # tuned once the inertias are known
        servo.forcelimited = 1
        servo.forcerange = [-joint.max_effort_nm, joint.max_effort_nm]


def _add_gripper_servos(
    spec: mujoco.MjSpec, config: RobotConfig, fingers: tuple[Joint, ...]
) -> None:
    gripper = config.arm.gripper
    if gripper is None:
        return
    for finger in fingers:
        spec.joint(finger.name).armature = gripper.armature_kg_m2
        servo = spec.add_actuator(
            name=finger.name, target=finger.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
        servo.set_to_position(kp=gripper.stiffness_nm_rad, kv=gripper.damping_nm_s)
        servo.forcelimited = 1
        servo.forcerange = [-finger.max_effort_nm, finger.max_effort_nm]
    for tip in gripper.tips:
        element = spec.joint(tip)
        element.armature = gripper.armature_kg_m2
        element.stiffness = [gripper.tip_stiffness_nm_rad, 0.0, 0.0]
        element.damping = [gripper.tip_damping_nm_s, 0.0, 0.0]


def _add_excludes(spec: mujoco.MjSpec, description: Description) -> None:
    for first, second in sorted(description.touching):
        spec.add_exclude(bodyname1=first, bodyname2=second)


def _add_table(spec: mujoco.MjSpec, config: RobotConfig, clearance_m: float) -> None:
    """A plane to touch, exact and cheap to collide with, and a slab to see."""
    table = config.world.table
    body = spec.worldbody.add_body(name=TABLE, pos=[*table.center_m, 0.0])
    half = [size / 2 for size in table.size_m]
    body.add_geom(
        name="table/plane",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[*half, 0.1],
        group=TOUCHED_GROUP,
        margin=clearance_m / 2,
        priority=2,
        condim=3,
        solref=[2.0 * config.world.physics_step_s, 1.0],
        solimp=[0.97, 0.995, 0.001, 0.5, 2.0],
        contype=SCENE_BIT,
        conaffinity=SCENE_BIT,
    )
    body.add_geom(
        name="table/slab",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[*half, table.thickness_m / 2],
        pos=[0.0, 0.0, -table.thickness_m / 2],
        rgba=[*table.color, 1.0],
        group=STILL_GROUP,
        contype=0,
        conaffinity=0,
    )
    spec.worldbody.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[4.0, 4.0, 0.1],
        pos=[0.0, 0.0, FLOOR_HEIGHT_M],
        rgba=[0.36, 0.40, 0.44, 1.0],
        group=STILL_GROUP,
        contype=0,
        conaffinity=0,
    )


def _add_object(spec: mujoco.MjSpec, config: RobotConfig, clearance_m: float) -> None:
    cylinder = config.world.object
    spot = [*config.world.table.center_m, cylinder.height_m / 2]
    body = spec.worldbody.add_body(name=OBJECT, pos=spot, mocap=not cylinder.tangible)
    if cylinder.tangible:
        body.add_freejoint(name=OBJECT)
        _add_weight(spec, cylinder.mass_kg)
    bits = SCENE_BIT if cylinder.tangible else 0
    body.add_geom(
        name=OBJECT,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[cylinder.radius_m, cylinder.height_m / 2, 0.0],
        mass=cylinder.mass_kg,
        rgba=[*cylinder.color, 1.0],
        friction=[cylinder.friction, 0.01, 0.0001],
        # Stiff enough that fingers do not press a light cylinder into the table.
        solref=[2.0 * config.world.physics_step_s, 1.0],
        solimp=[0.97, 0.995, 0.001, 0.5, 2.0],
        condim=4,
        priority=1,
        group=MOVING_GROUP,
        margin=clearance_m / 2,
        contype=bits,
        conaffinity=bits,
    )


def _add_weight(spec: mujoco.MjSpec, mass_kg: float) -> None:
    """A constant force on the object.

    The links' weight and its compensation cancel; adding both up took a tenth of every step.
    """
    weight = spec.add_actuator(
        name="weight", target=OBJECT, trntype=mujoco.mjtTrn.mjTRN_JOINT, gear=[0, 0, 1, 0, 0, 0]
    )
    weight.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    weight.gainprm[0] = 0.0
    weight.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    weight.biasprm[0] = -mass_kg * GRAVITY_M_S2


def _add_camera(spec: mujoco.MjSpec, camera: CameraConfig) -> None:
    rotation = look_at(camera)
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    spec.worldbody.add_camera(
        name=CAMERA, pos=camera.position_m, quat=quaternion, fovy=camera.fovy_deg
    )


def look_at(camera: CameraConfig) -> np.ndarray:
    """Camera to world rotation in MuJoCo's convention: x right, y up, looking along -z."""
    back = np.subtract(camera.position_m, camera.target_m)
    back /= np.linalg.norm(back)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back], axis=1)


def _add_contact_sensors(
    spec: mujoco.MjSpec, config: RobotConfig, description: Description
) -> None:
    subtree, body = mujoco.mjtObj.mjOBJ_XBODY, mujoco.mjtObj.mjOBJ_BODY
    others = {"self": (subtree, description.root), "scene": (body, TABLE)}
    if config.world.object.tangible:
        others["object"] = (body, OBJECT)
    for name, (kind, other) in others.items():
        spec.add_sensor(
            name=name,
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=subtree,
            objname=description.root,
            reftype=kind,
            refname=other,
            intprm=[1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1],
        )


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
