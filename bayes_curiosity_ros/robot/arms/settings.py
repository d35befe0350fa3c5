"""Settings of the arm node: which arm, in which cell, how fast, how it is watched."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ARMS
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.operator import OperatorConfig
from bayes_curiosity_ros.robot.supervision import SupervisorConfig
from bayes_curiosity_ros.runs import SILENCE_S


@dataclass(frozen=True)
class ArmNodeConfig:
    """Parameters of the arm node.

    Attributes:
        backend: name of the arm, one of `robot.arms.arm.ARMS`.
        robot: file in config/robots/, or a path: which arm on which table.
        task: what is learnt; decides where the arm starts and, in simulation, where the object is.
        dynamics: how a simulated arm moves, "physics" or "kinematic"; "" for the robot's own.
        collisions: check every pose for collisions before it is commanded. Off in simulated
            learning, where a collision is an outcome; a real arm insists on it.
        autostart: configure and activate without being asked.
        max_speed_deg_s: largest speed of any joint of a real arm.
        object_timeout_s: an object_pose older than this counts as unknown; real arms only.
        connect_timeout_s: longest wait for the arm.
        real_time_priority: the node of a real arm comes before other work of the machine, as
            SCHED_RR with this priority, 1 to 99; 0: it does not.
        run_silence_s: a learner of which nothing was heard for so long may be replaced by another.
        supervisor: stops, watchdog, the operator's word before a reset.
        operator: how a person drives who takes the arm over.
    """

    backend: str = "sim"
    robot: str = "jaco.yaml"
    task: str = "reach"
    dynamics: str = ""
    collisions: bool = False
    autostart: bool = True
    max_speed_deg_s: float = 10.0
    object_timeout_s: float = 5.0
    connect_timeout_s: float = 10.0
    real_time_priority: int = 0
    run_silence_s: float = SILENCE_S
    supervisor: SupervisorConfig = field(default_factory=SupervisorConfig)
    operator: OperatorConfig = field(default_factory=OperatorConfig)

    def __post_init__(self) -> None:
        require_positive(self, "max_speed_deg_s", "run_silence_s")
        if self.real and not self.collisions:
            raise ConfigError(
                f"collisions = false with backend {self.backend!r}: a real arm always checks"
            )
        if self.real and self.supervisor.resume_after_halt:
            raise ConfigError(
                f"supervisor.resume_after_halt = true with backend {self.backend!r}: a real arm "
                "that was halted begins a new episode"
            )

    @property
    def real(self) -> bool:
        """Whether metal moves."""
        return ARMS[self.backend].real

    def load_robot(self) -> RobotConfig:
        """The cell, with its collision checks on or off, a real arm slowed down."""
        robot = RobotConfig.load(self.robot)
        safety = replace(robot.safety, collisions=self.collisions)
        if self.real:
            safety = replace(safety, max_velocity_rad_s=(math.radians(self.max_speed_deg_s),))
        return replace(robot, safety=safety)
