"""Opens the page of `driftless serve` in a headless browser while robots drive, and watches them as a reader would.

    python checks/check_live.py [DRIFTLESS] [--screenshots FOLDER]

Trains a small run in a maze, serves it, and drives three robots whose names try to be more than names. Fails on any
console error, any exception, any request that is not to the page's own server, and anything that is not shown.
"""

import argparse
import base64
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from check_report import Browser, ink, require

SIDE = 16
NAMES = ["plain", "<img src=x onerror=window.hacked=1>", "\u202e\"'</script><script>window.hacked=1</script>"]


def train(driftless: str, folder: pathlib.Path) -> str:
    data, run = str(folder / "a.npz"), str(folder / "run")
    small = ["crop=16", "particles=30", "batch_size=4", "trajectories=4", "epochs=1"]
    for command in (["simulate", "maze1", "-o", data, "-n", "8", "-t", "12", "--size", str(SIDE)],
                    ["train", "maze-driftless", "--train", data, "--run", run, *small]):
        subprocess.run([driftless, *command], check=True, capture_output=True)
    return run


def serve(driftless: str, run: str):
    """A server, and where robots and readers find it."""
    command = [driftless, "serve", run, "--page", "127.0.0.1:0", "--particles", "50"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    robots = server.stdout.readline().split()[1]
    return server, robots, server.stdout.readline().split()[1]


def drive(address: str, ends: threading.Event) -> None:
    """Sends a step of each robot ten times a second, and reads what is answered."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as client:
        answers, step = client.makefile(), 0
        while not ends.wait(0.1):
            shade = bytes((7 * step + k) % 256 for k in range(SIDE * SIDE * 3))
            image = {"size": [SIDE, SIDE, 3], "data": base64.b64encode(shade).decode()}
            for name in NAMES:
                line = {"robot": name, "step": step, "odometry": [5, 0, 0.1], "image": image}
                client.sendall(json.dumps(line).encode() + b"\n")
                require("error" not in json.loads(answers.readline()), "a line is refused")
            step += 1


def watch(browser: Browser, page: str) -> None:
    browser.call("Page.navigate", url=page)
    browser.wait("window.driftless && window.driftless.updates >= 3", "the page is up to date")
    require(browser.evaluate("window.driftless.robots") == len(NAMES), "not all robots are shown")
    shown = browser.evaluate("[...document.querySelectorAll('#robots th')].map(e => e.textContent)")
    require(sorted(shown) == sorted(NAMES), f"names are not what they are: {shown}")
    require(browser.evaluate("window.hacked") is None, "a name was more than a name")
    require(browser.evaluate("document.querySelectorAll('#robots img, #robots script').length") == 0, "a name is markup")
    browser.wait("window.driftless.particles > 10", "particles are shown")
    require(browser.evaluate("document.getElementById('camera').naturalWidth") == SIDE, "the camera shows nothing")
    before = ink(browser, "map")
    updates = browser.evaluate("window.driftless.updates")
    browser.wait(f"window.driftless.updates >= {updates} + 3", "the page goes on")
    require(ink(browser, "map") != before, "the map is not redrawn")
    chosen = browser.evaluate("window.driftless.chosen")
    browser.evaluate("document.querySelector('#robots tr[aria-selected=false]').click()")
    browser.wait(f"window.driftless.chosen !== {chosen}", "another robot is chosen")
    health = browser.evaluate("document.getElementById('health').innerText")
    require("steps a second" in health and "p99" in health, f"no health: {health}")
    for width in (400, 1280):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
        wide = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        require(wide <= 0, f"the page is {wide} pixels too wide on a screen of {width}")
    require(browser.evaluate("window.driftless.errors.length") == 0, "the script complains")


def complaints(events: list, page: str) -> list:
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
            if not url.startswith(("data:", page)):
                found.append(f"request: {url}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("driftless", nargs="?", default="target/release/driftless")
    parser.add_argument("--screenshots", type=pathlib.Path)
    given = parser.parse_args()
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("no chromium found: apt-get install chromium", file=sys.stderr)
        return 1
    driftless = str(pathlib.Path(given.driftless).resolve())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server, robots, page = serve(driftless, train(driftless, pathlib.Path(folder)))
        ends = threading.Event()
        driver = threading.Thread(target=drive, args=(robots, ends))
        driver.start()
        browser = Browser(program, str(pathlib.Path(folder) / "profile"))
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(f"{domain}.enable")
            watch(browser, page)
            if given.screenshots:
                given.screenshots.mkdir(parents=True, exist_ok=True)
                browser.screenshot(given.screenshots / "live.png")
            found = complaints(browser.events, page)
            require(not found, "the browser complains:\n" + "\n".join(found))
            # Last, as browsers complain of servers that are gone.
            ends.set()
            driver.join()
            server.terminate()
            browser.wait("!window.driftless.isLive", "the page says that the server is gone")
            require(server.wait(20) == 0, "the server did not end well")
        except AssertionError as problem:
            print(f"check_live: {problem}", file=sys.stderr)
            return 1
        finally:
            ends.set()
            browser.close()
            server.kill()
    print("the page shows robots as they drive, and asks nobody else")
    return 0


if __name__ == "__main__":
    sys.exit(main())
