"""Times a page with a million points in Chromium without a graphics card. Run: python docs/tools/million.py WORK"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from sanne.draw.plot import plot_map

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
import browser

COUNT = 1_000_000
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
GAPS = """() => {
  window.gaps = [];
  let last = performance.now();
  const note = (now) => { window.gaps.push(now - last); last = now; requestAnimationFrame(note); };
  requestAnimationFrame(note);
}"""


def draw(path: Path) -> None:
    """A map of 400 groups in 40 classes."""
    stream = np.random.default_rng(0)
    group = stream.integers(400, size=COUNT)
    centres = stream.normal(size=(400, 64)).astype(np.float32)
    vectors = centres[group] + 0.8 * stream.normal(size=(COUNT, 64)).astype(np.float32)
    labels = np.array([f"class {k}" for k in range(40)], object)[group // 10]
    ids = [f"node-{i}" for i in range(COUNT)]
    begun = time.process_time()
    plot_map(vectors, labels, path, columns={"uncertainty": stream.random(COUNT)}, node_ids=ids, title="A million")
    print(f"drawn in {time.process_time() - begun:.0f} s of processor time, {path.stat().st_size / 1e6:.0f} MB")


def measure(path: Path) -> None:
    with sync_playwright() as playwright:
        drawing = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=drawing)
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(300_000)
        begun = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_function("document.querySelector('#facts').textContent.includes('nodes')")
        page.evaluate(DRAWN)
        print(f"first picture after {time.perf_counter() - begun:.1f} s")
        page.evaluate(GAPS)
        page.mouse.move(800, 450)
        page.mouse.down()
        for step in range(40):
            page.mouse.move(800 + 5 * step, 450 + 3 * step)
        page.mouse.up()
        gaps = sorted(page.evaluate("window.gaps"))
        print(
            f"dragging: half of the frames within {gaps[len(gaps) // 2]:.0f} ms, 95% {gaps[len(gaps) * 19 // 20]:.0f}"
        )
        begun = time.perf_counter()
        page.locator("button.class").first.click()
        page.evaluate(DRAWN)
        print(f"a class hidden after {time.perf_counter() - begun:.1f} s")
        chromium.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    target = parser.parse_args().work.absolute() / "million.html"
    if not target.exists():
        draw(target)
    measure(target)
