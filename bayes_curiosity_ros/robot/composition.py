"""Parts of the simulated cell, as edits of a MuJoCo specification that starts as a URDF.

Geoms fall into groups: what the camera sees, still or moving, and what only touches.
"""

from __future__ import annotations

import mujoco
import numpy as np

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


def weld_others(spec: mujoco.MjSpec, config: RobotConfig) -> list[str]:
    """Fix the joints that nobody asked for, at zero; the links they would have moved."""
    gripper = config.arm.gripper
    wanted = {*config.arm.joints, *((*gripper.fingers, *gripper.tips) if gripper else ())}
    welded = []
    for joint in list(spec.joints):
        if joint.name not in wanted:
            welded.append(joint.parent.name)
            spec.delete(joint)
    return welded


def fuse(spec: mujoco.MjSpec, links: list[str]) -> None:
    """Make links part of their parents: a body that cannot move is time lost in every step."""
    for link in links:
        spec.body(link).to_frame()


def set_options(spec: mujoco.MjSpec, config: RobotConfig) -> None:
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


def sort_geoms(
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


def add_joint_servos(spec: mujoco.MjSpec, config: RobotConfig, joints: tuple[Joint, ...]) -> None:
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


def add_gripper_servos(
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


def add_excludes(spec: mujoco.MjSpec, description: Description) -> None:
    bodies = {body.name for body in spec.bodies}
    for first, second in sorted(description.touching):
        if {first, second} <= bodies:
            spec.add_exclude(bodyname1=first, bodyname2=second)


def add_table(spec: mujoco.MjSpec, config: RobotConfig, clearance_m: float) -> None:
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


def add_object(spec: mujoco.MjSpec, config: RobotConfig, clearance_m: float) -> None:
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


def add_camera(spec: mujoco.MjSpec, camera: CameraConfig) -> None:
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


def add_contact_sensors(
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


def without_group(spec: mujoco.MjSpec, *groups: int) -> mujoco.MjSpec:
    """A copy without the geoms of these groups, unless they can touch as well as be seen."""
    copy = spec.copy()
    for geom in list(copy.geoms):
        if geom.group in groups and (geom.contype == 0 or geom.group == TOUCHED_GROUP):
            copy.delete(geom)
    return copy
