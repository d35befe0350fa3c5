"""Who may watch the page, who may use its buttons, and who holds the controls."""

import pytest

from bayes_curiosity_ros.environment import WEB_TOKEN
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.monitor.access import MOST_TRIES, Access, Visit
from bayes_curiosity_ros.monitor.controls import GONE_S, SILENT_S, Controls
from bayes_curiosity_ros.monitor.settings import MonitorConfig, is_loopback

TOKEN = "correct horse battery staple"
HERE = Visit("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:8080")
THERE = Visit("192.168.1.7", "robot:8080", "http://robot:8080")
# By a name of the attacker's that he lets mean 127.0.0.1.
REBOUND = Visit("127.0.0.1", "evil.example:8080", "http://evil.example:8080")
# From a page of another site, in the operator's own browser.
FOREIGN = Visit("127.0.0.1", "127.0.0.1:8080", "http://evil.example")
OTHER_PORT = Visit("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:3000")
PROGRAM = Visit("::1", "[::1]:8080")


@pytest.mark.parametrize("visit", [HERE, PROGRAM, Visit("127.0.0.1", "localhost:9000")])
def test_who_is_on_this_machine_may_use_the_buttons(visit):
    access = Access()
    assert access.admit(3, visit)
    assert access.may_control(3)
    assert not access.may_control(4)


@pytest.mark.parametrize("visit", [FOREIGN, OTHER_PORT])
@pytest.mark.parametrize("token", ["", TOKEN])
def test_no_page_of_another_site_gets_in(visit, token):
    access = Access(token)
    assert not access.admit(1, visit)
    assert not access.unlock(1, TOKEN)


@pytest.mark.parametrize("visit", [THERE, REBOUND])
def test_who_is_elsewhere_watches_until_he_gives_the_token(visit):
    assert not Access().admit(1, visit)
    access = Access(TOKEN)
    assert access.admit(1, visit)
    assert not access.may_control(1)
    assert not access.unlock(1, "guessed")
    assert not access.unlock(1, "")
    assert access.unlock(1, TOKEN)
    assert access.may_control(1)
    access.forget(1)
    assert not access.may_control(1)


def test_after_some_wrong_tokens_the_right_one_is_too_late():
    access = Access(TOKEN)
    access.admit(1, THERE)
    for _ in range(MOST_TRIES):
        assert not access.unlock(1, "guessed")
    assert not access.unlock(1, TOKEN)


def test_without_a_token_an_empty_one_unlocks_nothing():
    access = Access()
    access.admit(1, THERE)
    assert not access.unlock(1, "")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_a_loopback_address_needs_no_token(host, monkeypatch):
    monkeypatch.delenv(WEB_TOKEN, raising=False)
    assert is_loopback(host)
    assert MonitorConfig(web_host=host).given_token == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "robot.local", ""])
def test_any_other_address_needs_a_token(host, monkeypatch):
    monkeypatch.delenv(WEB_TOKEN, raising=False)
    with pytest.raises(ConfigError, match=WEB_TOKEN):
        MonitorConfig(web_host=host)
    monkeypatch.setenv(WEB_TOKEN, TOKEN)
    assert MonitorConfig(web_host=host).given_token == TOKEN
    assert TOKEN not in repr(MonitorConfig(web_host=host, token=TOKEN))


def test_a_short_token_is_refused_without_being_told(monkeypatch):
    monkeypatch.setenv(WEB_TOKEN, "hunter2")
    with pytest.raises(ConfigError, match="7 characters") as refused:
        MonitorConfig()
    assert "hunter2" not in str(refused.value)


class Clock:
    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


def test_one_holds_the_controls_until_he_gives_them():
    controls = Controls(Clock())
    assert controls.take(1)
    assert not controls.take(2)
    assert not controls.give(2)
    assert controls.holder == 1
    assert controls.give(1)
    assert controls.take(2)


def test_who_falls_silent_stops_to_drive_and_loses_the_controls():
    clock = Clock()
    controls = Controls(clock)
    controls.take(1)
    controls.driving = True
    clock.now_s += SILENT_S + 0.1
    assert not controls.heard
    assert controls.expire() is None
    controls.hear(2, clock.now_s)
    assert not controls.heard
    controls.hear(1, clock.now_s)
    controls.hear(1, 0.0)
    assert controls.heard
    clock.now_s += GONE_S
    assert controls.expire() == 1
    assert controls.holder is None
    assert not controls.driving
    assert controls.expire() is None
