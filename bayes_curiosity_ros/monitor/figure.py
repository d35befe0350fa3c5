"""The arm as its description says it looks, drawn link by link and moved by joint angles."""

from __future__ import annotations

import mujoco
import numpy as np
import trimesh
import viser

from bayes_curiosity_ros.robot.frames import LinkFrames, Transform
from bayes_curiosity_ros.robot.world import World

GEOM = mujoco.mjtGeom
FINE = 24  # corners of what is round
LEAST = 1e-6  # a link that turned less, in parts of a quaternion, has not moved


class Figure:
    """The links of an arm in a scene of viser, each in its parent's frame.

    Args:
        scene: where it is drawn.
        world: the cell; its model for cameras has every link, and how it looks.
    """

    def __init__(self, scene: viser.SceneApi, world: World) -> None:
        self._scene, self._model, self._arm = scene, world.scene, world.config.arm
        self._links = LinkFrames(world)
        ready = dict(zip(self._arm.joints, self._arm.ready_rad, strict=True))
        self._moving = self._links.moving(ready)
        self._names: dict[str, str] = {}
        self._frames = {
            link.child: self._added(link) for link in self._in_order(self._links.fixed)
        }
        self._drawn = {link.child: link.quaternion for link in self._moving}

    def move(self, joints: dict[str, float]) -> None:
        """Joint angles by name in [rad]; names that the arm does not have are left out.

        Raises:
            NotFiniteError: an angle is NaN or infinite; nothing changed.
        """
        self._moving = self._links.moving(joints)

    def draw(self) -> None:
        """Send browsers which links have turned; joints do nothing else."""
        for link in self._moving:
            if np.abs(link.quaternion - self._drawn[link.child]).max() > LEAST:
                self._drawn[link.child] = link.quaternion
                self._frames[link.child].wxyz = link.quaternion

    @property
    def hand(self) -> Transform:
        """The end effector in the world."""
        return self._links.in_world(self._arm.end_effector)

    def _in_order(self, fixed: list[Transform]) -> list[Transform]:
        """All links, parents before children, as the model has them."""
        links = {link.child: link for link in [*fixed, *self._moving]}
        names = [self._model.body(body).name for body in range(self._model.nbody)]
        return [links[name] for name in names if name in links]

    def _added(self, link: Transform) -> viser.FrameHandle:
        name = f"{self._names.get(link.parent, '/arm')}/{link.child}"
        self._names[link.child] = name
        frame = self._scene.add_frame(
            name, show_axes=False, position=link.translation, wxyz=link.quaternion
        )
        body = self._model.body(link.child).id
        for geom in np.flatnonzero(self._model.geom_bodyid == body):
            mesh = mesh_of(self._model, int(geom))
            self._scene.add_mesh_simple(
                f"{name}/{geom}",
                np.asarray(mesh.vertices, dtype=np.float32),
                np.asarray(mesh.faces, dtype=np.uint32),
                color=self._model.geom_rgba[geom, :3],
                flat_shading=False,
                position=self._model.geom_pos[geom],
                wxyz=self._model.geom_quat[geom],
            )
        return frame


def mesh_of(model: mujoco.MjModel, geom: int) -> trimesh.Trimesh:
    """The surface of a geom in its own frame."""
    kind, size = GEOM(model.geom_type[geom]), model.geom_size[geom]
    shape: trimesh.Trimesh
    if kind == GEOM.mjGEOM_MESH:
        shape = _stored(model, int(model.geom_dataid[geom]))
    elif kind == GEOM.mjGEOM_BOX:
        shape = trimesh.creation.box(2.0 * size)
    elif kind == GEOM.mjGEOM_CYLINDER:
        shape = trimesh.creation.cylinder(size[0], 2.0 * size[1], sections=FINE)
    elif kind == GEOM.mjGEOM_CAPSULE:
        shape = trimesh.creation.capsule(2.0 * size[1], size[0], count=[FINE, FINE])
        shape.apply_translation(-shape.bounds.mean(axis=0))
    else:
        shape = trimesh.creation.icosphere(subdivisions=3, radius=float(size[0]))
    return shape


def _stored(model: mujoco.MjModel, mesh: int) -> trimesh.Trimesh:
    """A mesh of the description's own."""
    vertices, faces = model.mesh(mesh).vertadr[0], model.mesh(mesh).faceadr[0]
    return trimesh.Trimesh(
        model.mesh_vert[vertices : vertices + model.mesh(mesh).vertnum[0]],
        model.mesh_face[faces : faces + model.mesh(mesh).facenum[0]],
    )
