"""Memory that was freed goes back to the system."""

from support.python import run_python
from support.waiting import WAIT_S

# Blocks below malloc's mmap threshold, with every sixteenth kept: what lies between is not at the
# heap's end, and stays the process's unless it is given back.
MEASURE = """
from pathlib import Path
from bayes_curiosity_ros.nodes.memory import give_back

def private_kb():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))
"""
BLOCKS = """
blocks = [bytes(16_000) for _ in range(4000)]
full = private_kb()
blocks = blocks[::16]
kept = private_kb()
give_back()
print(full - kept, full - private_kb())
"""
# A thousand messages of 16 kB wait in a subscription, and are taken.
QUEUE = f"""
import array, time
from bayes_curiosity_ros.nodes.loopback import bind_to_loopback
bind_to_loopback()
import rclpy
from rclpy.duration import Duration
from std_msgs.msg import UInt8MultiArray
from bayes_curiosity_ros.nodes.taps import Tap
rclpy.init()
node = rclpy.create_node("queue")
publisher = node.create_publisher(UInt8MultiArray, "large", 1000)
tap = Tap(node, "large", "std_msgs/msg/UInt8MultiArray")
deadline = time.monotonic() + {WAIT_S}
while not publisher.get_subscription_count() and time.monotonic() < deadline:
    time.sleep(0.01)
before = private_kb()
for _ in range(1000):
    publisher.publish(UInt8MultiArray(data=array.array("B", bytes(16_000))))
assert publisher.wait_for_all_acked(Duration(seconds={WAIT_S}))
held = private_kb()
taken = len(tap.take())
give_back()
print(taken, held - before, private_kb() - before)
rclpy.shutdown()
"""


def test_what_lies_between_blocks_in_use_is_given_back():
    before, after = map(int, run_python(MEASURE + BLOCKS).split())
    assert after > 40_000
    assert after > before


def test_a_queue_of_messages_gives_back_what_it_held():
    taken, held, after = map(int, run_python(MEASURE + QUEUE).split())
    assert taken == 1000
    assert held > 15_000
    assert after < held / 4
