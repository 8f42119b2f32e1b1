"""Chromium without a window, which tells what a page asked for and complained about."""

import json
import os
import shutil
import time

import pytest

_BINARIES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = "apt-get install chromium chromium-driver, and pip install selenium"
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--hide-scrollbars",
)
_SECONDS = 60


def open_browser():
    """A driver; skips where there is no Chromium, saying how to install it."""
    webdriver = pytest.importorskip("selenium.webdriver", reason=f"needs a browser: {INSTALL}")
    binary = os.environ.get("VTA_CHROMIUM") or next(filter(None, map(shutil.which, _BINARIES)), None)
    driver = os.environ.get("VTA_CHROMEDRIVER") or shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip(f"needs a browser: {INSTALL}")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


class Browser:
    """One tab."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, width=1280, height=900, theme="light", touch=False):
        """Show a file as a screen of that size does, and wait until all is drawn."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.driver.get(path.as_uri())
        self.js("try { localStorage.clear(); } catch { }")
        self.wait("document.body.dataset.ready === 'yes'")

    def js(self, text, *arguments):
        """Run a function's body in the page."""
        return self.driver.execute_script(text, *arguments)

    def value(self, text):
        """An expression's value in the page."""
        return self.js(f"return {text}")

    def wait(self, text):
        """Until an expression is true in the page."""
        end = time.monotonic() + _SECONDS
        while not self.value(text):
            assert time.monotonic() < end, f"never true: {text}"
            self.js("return new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))")

    def find(self, selector):
        """The first element that a selector names, scrolled to where it is seen."""
        element = self.driver.find_element("css selector", selector)
        self.js("arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' })", element)
        return element

    def click(self, selector):
        self.find(selector).click()

    def write(self, selector, text):
        element = self.find(selector)
        element.clear()
        element.send_keys(text)

    def hover(self, element):
        self.actions().move_to_element(element).pause(0.05).move_by_offset(1, 0).perform()

    def drag(self, selector, start, end):
        """Drag over an element, from and to parts of its width and height."""
        element = self.find(selector)
        box = self.js("const b = arguments[0].getBoundingClientRect(); return [b.width, b.height]", element)
        first, last = ([(part - 0.5) * size for part, size in zip(place, box, strict=True)] for place in (start, end))
        self.actions().move_to_element_with_offset(element, *map(int, first)).click_and_hold().move_by_offset(
            *(int((b - a) / 2) for a, b in zip(first, last, strict=True))
        ).move_by_offset(*(int((b - a) / 2) for a, b in zip(first, last, strict=True))).release().perform()

    def actions(self):
        from selenium.webdriver import ActionChains

        return ActionChains(self.driver, duration=10)

    def complaints(self):
        """What the console got."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses that the page asked for, but for the files of this machine and what lies in the page."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        return [address for address in asked if not address.startswith(("file:", "data:", "blob:"))]
