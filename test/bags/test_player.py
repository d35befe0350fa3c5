"""Replaying: which message comes next, and when."""

import threading
import time

import pytest

from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.player import Player, cues, parse_selection
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.errors import ConfigError
from support.pretended import Run, write_bag
from support.waiting import WAIT_S


@pytest.fixture
def reader(tmp_path):
    write_bag(tmp_path / "bag", Run(episodes=4, steps=3))
    return BagReader(tmp_path / "bag")


def cues_of(reader, text=""):
    selected = parse_selection(text)
    return lambda start: cues(reader, selected, start)


class Listener:
    """Plays in a thread, and remembers what it heard."""

    def __init__(self, player, cues_from):
        self.heard = []
        self.player = player
        self._news = threading.Condition()
        self.thread = threading.Thread(
            target=player.play, args=(cues_from, self._hear), daemon=True
        )
        self.thread.start()

    def _hear(self, cue):
        with self._news:
            self.heard.append(cue)
            self._news.notify()

    def steps(self):
        return [cue.episode for cue in list(self.heard) if cue.begins_step]

    def until(self, count):
        """The steps heard once there are so many, and no more for a moment."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.steps()) >= count, WAIT_S)
            self._news.wait_for(lambda: len(self.steps()) > count, 0.05)
        return self.steps()

    def join(self):
        self.thread.join(WAIT_S)
        assert not self.thread.is_alive()


def test_episodes_are_selected(reader):
    heard = []
    Player(rate=0).play(cues_of(reader, "1,3"), heard.append)
    assert {cue.episode for cue in heard if cue.record.topic == "/observation"} == {1, 3}


@pytest.mark.parametrize(
    ("text", "chosen"), [("", {0, 1, 2, 3}), ("2", {2}), ("0, 2-9", {0, 2, 3})]
)
def test_selections_are_read(text, chosen):
    assert {e for e in range(4) if parse_selection(text)(e)} == chosen


@pytest.mark.parametrize("text", ["a", "1;2", "-1"])
def test_bad_selections_are_refused(text):
    with pytest.raises(ConfigError, match="3-8"):
        parse_selection(text)


def test_time_is_kept(reader):
    heard = []
    began = time.monotonic()
    Player(rate=4.0).play(cues_of(reader), heard.append)
    recorded_s = (heard[-1].record.received_ns - heard[0].record.received_ns) * 1e-9
    assert time.monotonic() - began >= recorded_s / 4.0 - 0.01


def test_steps_one_by_one_then_on(reader):
    listener = Listener(Player(rate=0, paused=True), cues_of(reader))
    assert listener.until(0) == []
    listener.player.step()
    assert listener.until(1) == [0]
    listener.player.step()
    assert listener.until(2) == [0, 0]
    listener.player.resume()
    listener.join()
    assert len(listener.steps()) == 16


def test_seek_goes_to_an_episodes_start(reader):
    listener = Listener(Player(rate=0, paused=True), cues_of(reader))
    listener.player.step()
    listener.until(1)
    listener.player.seek(2)
    listener.player.resume()
    listener.join()
    assert listener.steps() == [0] + [2] * 4 + [3] * 4


def test_an_absent_episode_is_said(reader):
    player = Player(rate=0)
    player.seek(99)
    with pytest.raises(BagError, match="no episode 99"):
        player.play(cues_of(reader), lambda cue: None, lambda episode: episode < 4)


def test_stop_ends_it(reader):
    listener = Listener(Player(rate=1e-6), cues_of(reader))
    listener.player.stop()
    listener.join()
