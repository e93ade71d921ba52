# tests/viz/drive.py -- what the tests of the page share: find boxes, wait, ask the page.
import json


def place(page, title):
    """Where on the screen the box with this title is, with its corner sign."""
    found = page.evaluate(
        f"""(() => {{
          const {{ scene, camera, labels, page }} = ebbViewer;
          const frame = page.canvas.getBoundingClientRect();
          for (let item = 1; item < scene.count; item += 1) {{
            if (labels.title(scene, item) !== {json.dumps(title)}) continue;
            const at = (x, y) => {{
              const [sx, sy] = camera.toScreen(x, y);
              return [sx + frame.left, sy + frame.top];
            }};
            const [x, y, w, h] = [scene.x[item], scene.y[item], scene.w[item], scene.h[item]];
            const middle = at(x + w / 2, y + Math.min(h / 2, 14));
            return {{ middle, sign: at(x + w - 16, y + 15) }};
          }}
          return null;
        }})()"""
    )
    assert found, f"no box is called {title}"
    return found


def titles(page):
    return page.evaluate(
        "Array.from({ length: ebbViewer.scene.count - 1 },"
        " (_, k) => ebbViewer.labels.title(ebbViewer.scene, k + 1))"
    )


def selected(page):
    return page.evaluate("ebbViewer.selected")


def text(page, part):
    page.settle()
    return page.evaluate(f"ebbViewer.page.{part}.innerText")


def after_layout(page, action):
    """Do something that lays out anew, and wait until that is done."""
    page.evaluate("window.oldScene = ebbViewer.scene; 0")
    action()
    page.wait("ebbViewer.scene !== window.oldScene")
    page.settle()


def node_called(data, name, occurrence=0):
    number = data["strings"].index(name)
    return [k for k, found in enumerate(data["nodes"]["name"]) if found == number][occurrence]


def reach(data, start, is_up):
    """The nodes from which (up) or to which (down) gradients flow, by a walk of our own."""
    ends = ("to", "from") if is_up else ("from", "to")
    table = {}
    for here, there in zip(*(data["edges"][end] for end in ends), strict=True):
        table.setdefault(here, []).append(there)
    seen, stack = {start}, [start]
    while stack:
        for node in table.get(stack.pop(), []):
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


def camera(page):
    page.settle()
    return page.evaluate("({ scale: ebbViewer.camera.scale, x: ebbViewer.camera.x,"
                         " y: ebbViewer.camera.y })")  # fmt: skip
