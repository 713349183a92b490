"""Opens a report in a headless browser and uses it as a reader would.

    python checks/check_report.py REPORT_FOLDER [--one-share] [--screenshots FOLDER]

Talks to chromium over a pipe (DevTools protocol) with nothing but the standard library. Fails on any
console error, any exception, any request beyond the page itself and data: addresses, any panel that is
missing, and a player that does not play, pause, step, seek or change episodes.
"""

import argparse
import base64
import csv
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

PATIENCE = 20.0  # seconds; only a browser that hangs needs them
TABLES = ("accuracy", "overall", "paired", "belief", "runs")


class Browser:
    """A chromium process, and the one page in it."""

    def __init__(self, program: str, profile: str):
        to_browser, self._send = os.pipe()
        self._receive, from_browser = os.pipe()

        def wire() -> None:
            # Chromium expects commands on 3 and answers on 4; move ours out of the way first.
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--disable-background-networking", "--disable-component-update", "--no-first-run",
                   "--remote-debugging-pipe", f"--user-data-dir={profile}", "--window-size=1280,900", "about:blank"]
        self._process = subprocess.Popen(command, preexec_fn=wire, close_fds=False,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._rest, self._number, self.events, self._session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def _message(self, deadline: float) -> dict:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._receive], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._receive, 1 << 16)
            if not part:
                raise ConnectionError("the browser has ended")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, **parameters) -> dict:
        self._number += 1
        number, request = self._number, {"id": self._number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self._send, data):]
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self._message(deadline)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def evaluate(self, expression: str):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression: str, what: str):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.evaluate(expression):
                return
            time.sleep(0.05)
        raise AssertionError(f"never happened: {what}")

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code="Space" if key == " " else key,
                      **({"text": " "} if key == " " and kind == "keyDown" else {}))

    def screenshot(self, path: pathlib.Path) -> None:
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        try:
            self._session = None
            self.call("Browser.close")
        except (ConnectionError, TimeoutError, BrokenPipeError, RuntimeError):
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def complaints(events: list, page: str) -> list:
    """What the browser has to say against the page."""
    found = []
    for event in events:
        method, given = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            found.append(f"exception: {given['exceptionDetails']}")
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
            found.append(f"console: {given['args']}")
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            found.append(f"log: {given['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            url = given["request"]["url"]
            if not url.startswith("data:") and url.split("#")[0] != page:
                found.append(f"request: {url}")
    return found


def require(condition, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def check_files(report: pathlib.Path) -> None:
    charts = sorted(report.glob("*.svg"))
    require(charts, "there are no charts")
    for chart in charts:
        root = xml.etree.ElementTree.parse(chart).getroot()  # raises if it is not well-formed
        require(root.get("aria-label") and "NaN" not in chart.read_text(), f"{chart.name} is not as it should be")
    for name in TABLES:
        with open(report / f"{name}.csv", newline="") as file:
            rows = list(csv.reader(file, strict=True))
        require(len(rows) > 1 and len({len(row) for row in rows}) == 1, f"{name}.csv is not a table")


def check_panels(browser: Browser, one_share: bool) -> None:
    names = browser.evaluate("[...document.querySelectorAll('[data-figure]')].map(f => f.dataset.figure)")
    for kind in ("validation-", "time-", "boxes-", "trajectory-", "tracking-", "paired-", *(() if one_share else ("labels-",))):
        require(any(name.startswith(kind) for name in names), f"there is no panel {kind}: {names}")
    tall = browser.evaluate("[...document.querySelectorAll('[data-figure] > :first-child')]"
                            ".filter(f => !f.closest('details')).every(f => f.getBoundingClientRect().height > 150)")
    require(tall, "a figure has no height")
    require(browser.evaluate("document.querySelectorAll('table').length") == len(TABLES), f"there are not {len(TABLES)} tables")
    nameless = browser.evaluate("[...document.querySelectorAll('img,svg,canvas,button,select,input')].filter(e =>"
                                " !(e.alt || e.getAttribute('aria-label') || e.closest('label'))).length")
    require(nameless == 0, f"{nameless} elements have no name for screen readers")
    require(browser.evaluate("[...document.images].every(i => i.complete && (i.naturalWidth > 0 || i.src === 'data:,'))"),
            "an image cannot be shown")
    for width in (400, 1280):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                     mobile=width < 500)
        wide = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        require(wide <= 0, f"the page is {wide} pixels too wide on a screen of {width}")


def state(browser: Browser, name: str):
    return browser.evaluate(f"window.driftless.{name}")


def ink(browser: Browser, canvas: str) -> str:
    """A fingerprint of what is drawn."""
    return browser.evaluate(f"document.getElementById('{canvas}').toDataURL()")


def check_player(browser: Browser) -> None:
    browser.wait("window.driftless && window.driftless.ready", "the player is ready")
    steps = state(browser, "steps")
    require(steps > 10 and state(browser, "episodes") > 1, "there are too few steps or episodes")
    before = {canvas: ink(browser, canvas) for canvas in ("map", "strip")}
    browser.evaluate("document.getElementById('player').focus()")
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    browser.key("ArrowLeft")
    require(state(browser, "step") == 1, f"arrow keys lead to step {state(browser, 'step')}, not 1")
    require(browser.evaluate("document.getElementById('player').dataset.step") == "1", "data-step does not follow")
    for canvas, old in before.items():
        require(ink(browser, canvas) != old, f"the {canvas} is not redrawn")
    require(browser.evaluate("document.getElementById('camera').naturalWidth") > 0, "the camera shows nothing")
    browser.evaluate("document.getElementById('speed').value = '25'")
    browser.key(" ")
    require(state(browser, "playing"), "space does not play")
    browser.wait("window.driftless.step >= 6", "the player advances")
    browser.evaluate("document.getElementById('play').click()")
    require(not state(browser, "playing"), "the button does not pause")
    step = state(browser, "step")
    time.sleep(0.3)
    require(state(browser, "step") == step, "a paused player goes on")
    browser.evaluate("document.getElementById('next').click()")
    require(state(browser, "step") == step + 1, "the button does not step")
    browser.evaluate("{const s = document.getElementById('seek'); s.value = s.max; s.dispatchEvent(new Event('input'))}")
    require(state(browser, "step") == steps - 1, "the slider does not seek")
    browser.evaluate("document.getElementById('play').click()")
    browser.wait("window.driftless.playing && window.driftless.step < 20", "playing at the end begins anew")
    browser.wait("!window.driftless.playing", "playing ends at the end")
    require(state(browser, "step") == steps - 1, "playing does not reach the end")
    for episode in range(state(browser, "episodes")):
        browser.evaluate(f"{{const c = document.getElementById('chooser'); c.value = '{episode}';"
                         " c.dispatchEvent(new Event('change'))}")
        require(state(browser, "episode") == episode and state(browser, "step") == 0, f"episode {episode} is not chosen")
    require(state(browser, "errors") == [], f"the player reports {state(browser, 'errors')}")


def look(browser: Browser, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    browser.evaluate("{const c = document.getElementById('chooser'); c.value = '0'; c.dispatchEvent(new Event('change'));"
                     " const s = document.getElementById('seek'); s.value = 9; s.dispatchEvent(new Event('input'))}")
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        time.sleep(0.5)
        browser.screenshot(folder / f"{scheme}.png")
    browser.call("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=True)
    time.sleep(0.5)
    browser.screenshot(folder / "phone.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--one-share", action="store_true", help="all runs have the same share of labels")
    parser.add_argument("--screenshots", type=pathlib.Path)
    given = parser.parse_args()
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("no chromium found: apt-get install chromium", file=sys.stderr)
        return 1
    page = (given.report / "index.html").resolve().as_uri()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(f"{domain}.enable")
            browser.call("Page.navigate", url=page)
            browser.wait("document.readyState === 'complete' && location.protocol === 'file:'", "the page is loaded")
            check_files(given.report)
            check_panels(browser, given.one_share)
            check_player(browser)
            if given.screenshots:
                look(browser, given.screenshots)
            require(not complaints(browser.events, page), "the browser complains")
        except AssertionError as problem:
            print("\n".join([f"check_report: {problem}", *complaints(browser.events, page)]), file=sys.stderr)
            return 1
        finally:
            browser.close()
    print("the report opens, plays and asks for nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
