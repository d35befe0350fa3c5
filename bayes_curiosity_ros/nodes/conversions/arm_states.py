"""Between ArmState messages and what arms report."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_interfaces.msg import ArmState as ArmStateMessage
from bayes_curiosity_ros.errors import LengthError, unknown_name
from bayes_curiosity_ros.nodes.conversions.values import doubles, seconds_of, stamp_of
from bayes_curiosity_ros.nodes.wire import fresh
from bayes_curiosity_ros.robot.arms.arm import ArmState
from bayes_curiosity_ros.robot.config import ArmConfig


def message_of_arm_state(state: ArmState, names: tuple[str, ...]) -> ArmStateMessage:
    """All but episode, step and deltas. Positions: joints, then fingers, as `names` says."""
    positions = np.concatenate([state.joints, state.fingers])
    velocities = np.zeros(len(positions))
    velocities[: len(state.velocities)] = state.velocities
    message = fresh(ArmStateMessage)
    message.joint_names = names
    message.positions, message.velocities = doubles(positions), doubles(velocities)
    message.gripper = state.gripper
    message.object_known = state.object_position is not None
    message.self_contacts = int("self" in state.contacts)
    message.scene_contacts = int("scene" in state.contacts)
    message.object_contacts = int("object" in state.contacts)
    message.header.stamp = stamp_of(state.stamp_s)
    message.header.frame_id = "world"
    if state.object_position is not None:
        pose = message.object_pose
        pose.position.x, pose.position.y, pose.position.z = state.object_position.tolist()
        if state.object_orientation is not None:
            turn = pose.orientation
            turn.w, turn.x, turn.y, turn.z = state.object_orientation.tolist()
    return message


def arm_state_of_message(message: ArmStateMessage, arm: ArmConfig) -> ArmState:
    """What an arm reported: of its joints and, where it is simulated, of all its fingers.

    Raises:
        ConfigError, LengthError: it is another arm's.
    """
    count, names = len(arm.joints), tuple(message.joint_names)
    if names not in (arm.all_joints, arm.joints):
        wrong = next((name for name in names if name not in arm.all_joints), names)
        raise unknown_name("joint in arm/state:", wrong, arm.all_joints)
    positions, velocities = np.frombuffer(message.positions), np.frombuffer(message.velocities)
    if not len(positions) == len(velocities) == len(names):
        raise LengthError(
            f"{len(names)} joints with {len(positions)} positions, {len(velocities)} velocities"
        )
    spot, turn = message.object_pose.position, message.object_pose.orientation
    place = np.array([spot.x, spot.y, spot.z, turn.w, turn.x, turn.y, turn.z])
    contacts = {
        "self": message.self_contacts,
        "scene": message.scene_contacts,
        "object": message.object_contacts,
    }
    return ArmState(
        stamp_s=seconds_of(message.header.stamp),
        joints=positions[:count],
        velocities=velocities[:count],
        fingers=positions[count:],
        gripper=message.gripper,
        contacts=frozenset(kind for kind, number in contacts.items() if number),
        object_position=place[:3] if message.object_known else None,
        object_orientation=place[3:] if message.object_known else None,
    )
