"""The executor that keeps its wait set serves what rclpy's own serves."""

import threading
from contextlib import suppress

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger

from bayes_curiosity_ros.nodes import executor as executors
from bayes_curiosity_ros.nodes.executor import KeepingExecutor, one_thread
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.nodes.wire import Taking, WirePublisher, subscribe_aside, unserved
from support.waiting import until, wait_for


@pytest.fixture
def graph():
    """A node on the executor, in a context of its own."""
    context = Context()
    rclpy.init(context=context)
    node = Node("served", context=context)
    executor = KeepingExecutor(context=context)
    executor.add_node(node)
    yield node, executor
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown(context=context)


def spin_until(executor, ready, what):
    def is_ready():
        executor.spin_once(timeout_sec=0.01)
        return ready()

    wait_for(is_ready, what)


def met(node, executor, topic="words"):
    """A publisher and the words that come back from it."""
    words = []
    node.create_subscription(String, topic, lambda m: words.append(m.data), EPISODE_QOS)
    publisher = node.create_publisher(String, topic, EPISODE_QOS)
    spin_until(executor, publisher.get_subscription_count, "meeting")
    return publisher, words


def test_what_is_never_executed_does_not_have_the_wait_set_made_anew(graph, monkeypatch):
    """A recorder and the page have many such subscriptions, and wake up all the time."""
    node, executor = graph
    aside = subscribe_aside(node, String, "aside", EPISODE_QOS)
    publisher, words = met(node, executor)
    other = node.create_publisher(String, "aside", EPISODE_QOS)
    spin_until(executor, other.get_subscription_count, "meeting aside")
    executor.spin_once(timeout_sec=0.01)
    monkeypatch.setattr(executors, "_WaitSet", None)  # another would be an error
    for number in range(20):
        other.publish(String(data="unheard"))
        publisher.publish(String(data=str(number)))
    spin_until(executor, lambda: len(words) == 20, "words")
    assert until(lambda: next(unserved(String, aside), None) is not None)


def test_every_message_is_served_once_and_in_order(graph):
    publisher, words = met(*graph)
    expected = [str(number) for number in range(500)]
    for word in expected:
        publisher.publish(String(data=word))
    spin_until(graph[1], lambda: len(words) >= len(expected), "messages")
    graph[1].spin_once(timeout_sec=0.05)
    assert words == expected


def test_what_is_created_or_destroyed_in_between_is_noticed(graph):
    node, executor = graph
    first, words = met(node, executor)
    second, others = met(node, executor, "others")
    node.destroy_subscription(next(s for s in node.subscriptions if s.topic_name == "/words"))
    first.publish(String(data="to nobody"))
    second.publish(String(data="to somebody"))
    spin_until(executor, lambda: others, "message of the other topic")
    assert (words, others) == ([], ["to somebody"])


@pytest.mark.parametrize("of_steps", [False, True])
def test_a_callback_may_destroy_another_that_is_ready(graph, of_steps):
    node, executor = graph
    heard = []

    def take(message):
        heard.append(message.data)
        for subscription in list(node.subscriptions):
            node.destroy_subscription(subscription)

    called = Taking(String, take) if of_steps else take
    for _ in range(2):
        node.create_subscription(String, "words", called, EPISODE_QOS, raw=of_steps)
    publisher = node.create_publisher(String, "words", EPISODE_QOS)
    wait_for(lambda: publisher.get_subscription_count() == 2, "meeting")
    publisher.publish(String(data="one"))
    spin_until(executor, lambda: heard, "message")
    executor.spin_once(timeout_sec=0.05)
    assert heard == ["one"]


def test_timers_run_and_stop_when_they_are_cancelled(graph):
    node, executor = graph
    ticks = []
    timer = node.create_timer(0.005, lambda: ticks.append(1))
    spin_until(executor, lambda: len(ticks) >= 3, "ticks")
    timer.cancel()
    count = len(ticks)
    executor.spin_once(timeout_sec=0.05)
    assert len(ticks) == count


def test_services_are_answered_by_functions_and_by_coroutines(graph):
    node, executor = graph
    gate = Future()

    async def slowly(request, response):
        await gate
        response.message = "slowly"
        return response

    def at_once(request, response):
        response.message = "at once"
        return response

    names = {"slow": slowly, "fast": at_once}
    clients = {}
    for name, answer in names.items():
        node.create_service(Trigger, name, answer)
        clients[name] = node.create_client(Trigger, name)
        assert clients[name].wait_for_service(10.0)
    slow, fast = (clients[name].call_async(Trigger.Request()) for name in names)
    spin_until(executor, lambda: executor._tasks or fast.done(), "requests")
    gate.set_result(None)
    spin_until(executor, lambda: slow.done() and fast.done(), "answers")
    assert (slow.result().message, fast.result().message) == ("slowly", "at once")


def flood(node, executor):
    """Steps without end: each that is heard is followed by the next."""
    words = []
    publisher = node.create_publisher(String, "steps", EPISODE_QOS)

    def step(message):
        words.append(message.data)
        publisher.publish(message)

    node.create_subscription(String, "steps", Taking(String, step), EPISODE_QOS, raw=True)
    spin_until(executor, publisher.get_subscription_count, "meeting")
    publisher.publish(String(data="on"))
    return words


def test_all_else_has_its_turn_while_steps_follow_each_other(graph):
    node, executor = graph
    other, others = met(node, executor, "others")
    node.create_service(Trigger, "asked", lambda request, response: response)
    client, ticks = node.create_client(Trigger, "asked"), []
    node.create_timer(0.005, lambda: ticks.append(1))
    spin_until(executor, client.service_is_ready, "the service")
    words = flood(node, executor)
    spin_until(executor, lambda: len(words) > 10, "steps")
    answer = client.call_async(Trigger.Request())
    other.publish(String(data="another"))
    spin_until(
        executor, lambda: answer.done() and others and len(ticks) > 3, "answer, message and ticks"
    )
    count = len(words)
    spin_until(executor, lambda: len(words) > count, "further steps")


def test_calls_in_the_group_of_steps_wait_for_no_look(graph, monkeypatch):
    node, executor = graph
    asked = []

    def answer(request, response):
        asked.append(1)
        return response

    node.create_service(Trigger, "asked", answer)
    client = node.create_client(Trigger, "asked")
    spin_until(executor, client.service_is_ready, "the service")
    words = flood(node, executor)
    spin_until(executor, lambda: len(words) > 10, "steps")
    monkeypatch.setattr(executors, "LOOK_S", float("inf"))
    client.call_async(Trigger.Request())
    spin_until(executor, lambda: asked, "call")


def test_all_else_that_is_served_between_steps_does_not_hold_them_up(graph, monkeypatch):
    node, executor = graph
    other, others = met(node, executor, "others")
    words = flood(node, executor)
    spin_until(executor, lambda: len(words) > 10, "steps")
    monkeypatch.setattr(executors, "LOOK_S", 0.0)  # look at everything every time
    other.publish(String(data="another"))
    spin_until(executor, lambda: others, "the other message")
    monkeypatch.setattr(executors, "LOOK_S", float("inf"))
    other.publish(String(data="a third"))
    count = len(words)
    spin_until(executor, lambda: len(words) > count + 10, "further steps")
    assert others == ["another"]


def test_who_waits_for_a_step_gets_it_before_all_else(graph, monkeypatch):
    node, executor = graph
    other, others = met(node, executor, "others")
    words = []
    take = Taking(String, lambda message: words.append(message.data))
    node.create_subscription(String, "steps", take, EPISODE_QOS, raw=True)
    steps = node.create_publisher(String, "steps", EPISODE_QOS, publisher_class=WirePublisher)
    spin_until(executor, steps.get_subscription_count, "meeting")
    monkeypatch.setattr(executors, "LOOK_S", float("inf"))
    other.publish(String(data="another"))
    steps.publish(String(data="step"))
    executor.spin_step(timeout_sec=1.0)
    assert (words, others) == (["step"], [])
    spin_until(executor, lambda: others, "the other message")


def test_every_step_is_served_once_and_in_order(graph):
    node, executor = graph
    words = []
    take = Taking(String, lambda message: words.append(message.data))
    node.create_subscription(String, "steps", take, EPISODE_QOS, raw=True)
    publisher = node.create_publisher(String, "steps", EPISODE_QOS, publisher_class=WirePublisher)
    spin_until(executor, publisher.get_subscription_count, "meeting")
    expected = [str(number) for number in range(500)]
    for word in expected:
        publisher.publish(String(data=word))
    spin_until(executor, lambda: len(words) >= len(expected), "messages")
    executor.spin_once(timeout_sec=0.05)
    assert words == expected


def test_what_is_created_while_steps_follow_each_other_is_noticed(graph):
    words = flood(*graph)
    spin_until(graph[1], lambda: len(words) > 10, "steps")
    publisher, others = met(*graph, "others")
    publisher.publish(String(data="new"))
    spin_until(graph[1], lambda: others, "a message of the new topic")


def test_what_a_callback_raises_reaches_who_spins(graph):
    node, executor = graph

    def fail():
        raise ValueError("of the callback")

    node.create_timer(0.001, fail)
    with pytest.raises(ValueError, match="of the callback"):
        executor.spin()


def test_a_wait_ends_when_the_graph_is_shut_down(graph):
    node, executor = graph
    threading.Timer(0.1, rclpy.try_shutdown, kwargs={"context": node.context}).start()
    with suppress(ExternalShutdownException):
        executor.spin()
    assert not node.context.ok()


def test_callbacks_of_a_group_wait_for_one_of_it_that_awaits(graph):
    node, executor = graph
    gate, served = Future(), []

    async def slowly(message):
        await gate
        served.append("slowly")

    node.create_subscription(String, "words", slowly, EPISODE_QOS)
    publisher = node.create_publisher(String, "words", EPISODE_QOS)
    wait_for(publisher.get_subscription_count, "meeting")
    publisher.publish(String(data="one"))
    spin_until(executor, lambda: executor._tasks, "message")
    node.create_timer(0.001, lambda: served.append("tick"))  # the same group, the node's own
    for _ in range(10):
        executor.spin_once(timeout_sec=0.01)
    assert not served
    gate.set_result(None)
    spin_until(executor, lambda: "tick" in served, "tick")
    assert served[0] == "slowly"


def test_one_spin_serves_one_callback(graph):
    node, executor = graph
    publisher, words = met(*graph)
    second, others = met(node, executor, "others")
    publisher.publish(String(data="one"))
    second.publish(String(data="two"))
    counts = []

    def both():
        executor.spin_once(timeout_sec=0.01)
        counts.append(len(words) + len(others))
        return counts[-1] == 2

    wait_for(both, "messages")
    assert 1 in counts


def test_rclpys_own_executor_serves_where_its_parts_have_changed(monkeypatch, own_context):
    assert isinstance(one_thread(), KeepingExecutor)
    monkeypatch.setattr(executors, "PRIVATE", ("_of_another_release",))
    assert type(one_thread()) is SingleThreadedExecutor


@pytest.fixture
def own_context():
    """The default context, which executors take that are given none."""
    rclpy.init()
    yield
    rclpy.try_shutdown()
