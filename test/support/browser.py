"""A real browser without a screen, where Debian's chromium and its driver are installed."""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from support.waiting import wait_for

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = (
    "no chromium and chromedriver here; install them with: apt install chromium chromium-driver"
)
SIZE = (1280, 840)
# Where nobody keeps its pictures, the scene is drawn coarsely and seldom: in software, on the
# cores that the arm needs, too. viser takes the first as a word of its address; the second is the
# time between two frames in [ms].
COARSE, FRAME_MS = "?fixedDpr=0.5", 150
SELDOM = f"""
const draw = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (call) => setTimeout(() => draw(call), {FRAME_MS});
window.cancelAnimationFrame = clearTimeout;
"""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)


@contextmanager
def browser(profile: Path) -> Iterator[Any]:
    """A browser with a profile of its own."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--window-size={SIZE[0]},{SIZE[1]}", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


class OpenPage:
    """The operator's page in a browser.

    Args:
        driver: the browser.
        url: address of the page.
        pictures: folder for screenshots.
        fine: draw all that a screen would show, for pictures that are kept.
    """

    def __init__(self, driver: Any, url: str, pictures: Path, fine: bool = False) -> None:
        self.driver, self._pictures = driver, pictures
        if not fine:
            new = "Page.addScriptToEvaluateOnNewDocument"
            driver.execute_cdp_cmd(new, {"source": SELDOM})
        driver.get(url if fine else url + COARSE)
        self.wait_for_button("STOP")

    def wait_for_button(self, label: str) -> None:
        """Wait until there is a button that can be pressed."""
        wait_for(lambda: self._enabled(label), f"button {label} that can be pressed")

    def press(self, label: str) -> float:
        """Press a button; when that was, by the monotonic clock."""
        self.wait_for_button(label)
        now_s = time.monotonic()
        self._button(label).click()
        return now_s

    def key(self, letter: str) -> float:
        """Press a key; when that was, by the monotonic clock."""
        from selenium.webdriver.common.action_chains import ActionChains

        now_s = time.monotonic()
        ActionChains(self.driver).send_keys(letter).perform()
        return now_s

    def close_notes(self) -> None:
        """Close notifications, which lie on the scene, until there are none."""

        def closed() -> bool:
            script = (
                "const found = document.querySelectorAll('.mantine-Notification-closeButton');"
            )
            script += "found.forEach(each => each.click()); return found.length"
            return self.driver.execute_script(script) == 0

        wait_for(closed, "scene without notifications")

    def words(self) -> str:
        """All text on the page."""
        return str(self.driver.execute_script("return document.body.textContent"))

    def shot(self, name: str) -> np.ndarray:
        """A picture of the whole page, which is kept under this name, too; (H, W, 3)."""
        data = self.driver.get_screenshot_as_png()
        (self._pictures / f"{name}.png").write_bytes(data)
        return pixels_of(data)

    def scene(self, name: str) -> np.ndarray:
        """The part of a picture that shows the scene alone."""
        picture = self.shot(name)
        height, width = picture.shape[:2]
        return picture[height // 4 : height * 3 // 4, width // 3 : width * 2 // 3]

    def patch(self, middle: tuple[int, int], reach: int = 5) -> np.ndarray:
        """The pixels around one, (H, W, 3)."""
        corner = {"x": middle[0] - reach, "y": middle[1] - reach}
        clip = corner | {"width": 2 * reach + 1, "height": 2 * reach + 1, "scale": 1}
        found = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
        return pixels_of(base64.b64decode(found["data"]))

    def point(self, place: tuple[int, int]) -> None:
        """Move the mouse a little at a pixel, and come to rest there."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        actions = ActionBuilder(self.driver, duration=0)
        for shift in (1, 0):
            actions.pointer_action.move_to_location(place[0] + shift, place[1])
        actions.perform()

    def drag(self, start: tuple[int, int], by: tuple[int, int], steps: int = 4) -> None:
        """Drag the mouse from a point of the page, slowly enough for whoever follows it."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        actions = ActionBuilder(self.driver, duration=FRAME_MS)
        mouse = actions.pointer_action
        mouse.move_to_location(*start)
        mouse.pointer_down()
        for step in range(1, steps + 1):
            mouse.move_to_location(
                start[0] + by[0] * step // steps, start[1] + by[1] * step // steps
            )
        actions.perform()

    def let_go(self) -> None:
        """End a drag."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        actions = ActionBuilder(self.driver)
        actions.pointer_action.pointer_up()
        actions.perform()

    def _button(self, label: str) -> Any:
        path = f"//button[normalize-space(.)='{label}']"
        return self.driver.find_element("xpath", path)

    def _enabled(self, label: str) -> bool:
        from selenium.common.exceptions import WebDriverException

        try:
            button = self._button(label)
            return bool(button.is_displayed() and button.is_enabled())
        except WebDriverException:  # not there yet, or drawn anew just now
            return False


def pixels_of(png: bytes) -> np.ndarray:
    """A picture's pixels, (H, W, 3)."""
    return np.asarray(Image.open(BytesIO(png)).convert("RGB"), dtype=int)
