# tests/viz/browser.py -- drives headless Chromium through its debugging pipe, no package needed.
"""``Browser`` starts Chromium; ``Page`` opens a file, evaluates, clicks, types, takes pictures.

Chromium's protocol is JSON, one message after another with a zero byte between them, on the file
descriptors 3 (to it) and 4 (from it).
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = "chromium"
FLAGS = (
    # Chromium's own sandbox works neither for root nor in most containers; the pages are our own.
    "--no-sandbox",
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb",
)  # fmt: skip
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
KEY_CODES = {
    "Enter": 13, "Escape": 27, "Tab": 9, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
    "ArrowDown": 40, "Home": 36, "End": 35,
}  # fmt: skip


class Browser:
    """A Chromium of its own, with a throw-away profile; use it with ``with``."""

    def __init__(self):
        if not shutil.which(PROGRAM):
            raise RuntimeError(f"browser: needs {PROGRAM}\nhint: tools/setup.sh test")
        self._folder = tempfile.TemporaryDirectory(prefix="ebb-browser-")
        self.downloads = Path(self._folder.name) / "downloads"
        self.downloads.mkdir()
        read_end, self._to = os.pipe()
        self._from, write_end = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self._folder.name}/profile"]
        environment = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{read_end} 4>&{write_end}', PROGRAM, *flags],
            pass_fds=(read_end, write_end), env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_end)
        os.close(write_end)
        self._buffer = b""
        self._last_id = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self._process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._folder.name, ignore_errors=True)

    def send(self, method, session=None, **params):
        """Send one command and return its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(60)
            if answer.get("id") != self._last_id:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def _write(self, content):
        while content:
            content = content[os.write(self._to, content) :]

    def _receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise RuntimeError("browser: no answer")
            piece = os.read(self._from, 1 << 20)
            if not piece:
                raise RuntimeError("browser: has ended")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path, width=1400, height=900, dark=False, wait=True, touch=False):
        """Open a file in a tab of its own and, by default, wait until the graph is drawn."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        for domain in ("Page", "Runtime", "Log"):
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        page.set_dark(dark)
        if touch:
            page.send("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        page.go(path if "://" in str(path) else Path(path).resolve().as_uri())
        if wait:
            page.wait("document.documentElement?.dataset.ready === 'yes'")
        return page


class Page:
    """One tab."""

    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def go(self, url):
        self.send("Page.navigate", url=url)

    def close(self):
        self.browser.send("Target.closeTarget", targetId=self.target)

    def set_dark(self, dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def evaluate(self, code):
        """Return the value of an expression, a promise's value awaited."""
        answer = self.send(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details["text"]
            raise RuntimeError(f"{code[:80]}: {text}")
        return answer["result"].get("value")

    def wait(self, condition, seconds=30):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise RuntimeError(f"browser: waited {seconds} s for {condition}: {self.faults()}")
            time.sleep(0.02)

    def settle(self):
        """Wait for two frames: what was asked for has been drawn."""
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def faults(self):
        """Return what the page threw, logged as an error or was refused by its own policy."""
        self.evaluate("0")
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"]["exception"]["description"])
            elif event["method"] == "Log.entryAdded":
                entry = event["params"]["entry"]
                if entry["level"] == "error":
                    found.append(entry["text"])
        return found

    def key(self, key, *modifiers):
        """Press and release one key, as a user would."""
        held = sum(MODIFIERS[name] for name in modifiers)
        code = KEY_CODES.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": held}
        if held & 2:
            text = {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        for char in text:
            self.key(char)

    def mouse(self, kind, x, y, **params):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **params)

    def click(self, x, y, count=1):
        self.mouse("mouseMoved", x, y)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=number)

    def drag(self, start, end, steps=5):
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        for step in range(1, steps + 1):
            x, y = (a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def wheel(self, x, y, amount):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=amount)

    def touch(self, kind, *points):
        touches = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]
        self.send("Input.dispatchTouchEvent", type=kind, touchPoints=touches)

    def screenshot(self, path):
        answer = self.send("Page.captureScreenshot", format="png")
        Path(path).write_bytes(base64.b64decode(answer["data"]))
