"""A headless Chromium, driven through its WebDriver."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

#: Width and height of each screen, in CSS pixels.
SCREENS = {"phone": (360, 740), "laptop": (1280, 800), "wide": (1920, 1080)}
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--force-device-scale-factor=1",
)


class Browser:
    """One window; ``with`` closes it."""

    def __init__(self, chromium: str, driver: str, profile: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self._driver = webdriver.Chrome(options=options, service=Service(driver))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.quit()

    def resize(self, screen: str, *, dark: bool = False, media: str = "") -> None:
        """Emulate a screen, a colour scheme and a medium."""
        width, height = SCREENS[screen]
        self.command(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})

    def open(self, page: Path) -> None:
        """Open a page, and wait until its picture is drawn."""
        self._driver.get(page.as_uri())
        self.wait("return !page.content.edges.length || !!document.querySelector('.picture svg')")

    def wait(self, script: str) -> None:
        """Wait until a script returns something true."""
        WebDriverWait(self._driver, 30).until(lambda driver: driver.execute_script(script))

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page and return its result."""
        return self._driver.execute_script(script, *arguments)

    def run_async(self, script: str) -> Any:
        """Run a script that calls its last argument with the result."""
        return self._driver.execute_async_script(script)

    def command(self, name: str, arguments: dict[str, Any]) -> Any:
        """Send a command of the DevTools protocol."""
        return self._driver.execute_cdp_cmd(name, arguments)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, where the focus is."""
        actions = webdriver.ActionChains(self._driver)
        for key in keys:
            actions = actions.send_keys(key)
        actions.perform()

    def find(self, selector: str) -> Any:
        """Return the first element of a selector."""
        return self._driver.find_element("css selector", selector)

    def console(self) -> list[str]:
        """Return the messages of the console since the last call."""
        return [entry["message"] for entry in self._driver.get_log("browser")]
