"""The report in a real browser: it starts without an error, shows everything, fits a phone, and takes no orders from a caller."""

import html
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.record.report import render_report
from media.oggopus import OggOpusWriter
from tests.agent.record.sample_calls import HOSTILE, busy_call, long_call

pytestmark = pytest.mark.peer

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
    "--enable-logging=stderr",
    "--virtual-time-budget=4000",
)
BOUND_S = 90

WRAPPER = """<!doctype html><body><iframe src="call/report.html" style="width:{width}px;height:844px;border:0"></iframe>
<pre id="seen"></pre><script>
document.querySelector("iframe").onload = async (event) => {{
  const page = event.target.contentWindow, doc = page.document;
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const all = (selector) => [...doc.querySelectorAll(selector)];
  const one = (selector) => doc.querySelector(selector);
  let seen;
  try {{ seen = await (async () => {{ {script} }})(); }} catch (error) {{ seen = {{ error: String(error) }}; }}
  document.getElementById("seen").textContent = JSON.stringify(seen);
}};
</script></body>"""


class Browser:
    """Loads pages in a Chromium of its own for each page and ends it."""

    def __init__(self, program: str, home: Path) -> None:
        self._program = program
        self._home = home

    def load(self, page: Path, width: int = 1400) -> tuple[str, list[str]]:
        """The document as it is once its scripts have run, and what they wrote to the console."""
        profile = self._home / "profile"
        command = [self._program, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},900", "--dump-dom", page.as_uri()]
        environment = {**os.environ, "HOME": str(self._home), "XDG_CONFIG_HOME": str(self._home)}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        try:
            dom, log = process.communicate(timeout=BOUND_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        assert process.returncode == 0, log
        return dom, [line for line in log.splitlines() if "CONSOLE" in line]

    def look(self, folder: Path, script: str, width: int = 1400) -> Any:
        """What `script` (the body of an async function) returns inside a frame of `width` px that shows `call/report.html`."""
        wrapper = folder / "wrapper.html"
        wrapper.write_text(WRAPPER.format(width=width, script=script))
        dom, console = self.load(wrapper)
        assert console == []
        found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
        assert found
        assert found[1], "the script did not come to its end"
        return json.loads(html.unescape(found[1]))


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    program = shutil.which("chromium")
    assert program, "chromium is missing: apt-get install chromium"
    home = tmp_path / "home"
    home.mkdir()
    return Browser(program, home)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return render_report(busy_call().store(tmp_path / "call"))


def test_the_console_is_seen_at_all(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text("<script>nothing.here()</script>")
    _, console = browser.load(page)
    assert len(console) == 1
    assert "nothing is not defined" in console[0]


def test_it_starts_without_an_error_and_shows_what_was_never_heard(browser: Browser, report: Path) -> None:
    dom, console = browser.load(report)
    assert console == []
    assert 'data-ready="yes"' in dom
    struck = [html.unescape(re.sub("<[^>]*>", "", text)) for text in re.findall(r'<s class="unheard">(.*?)</s>', dom, re.DOTALL)]
    assert any("adjusted, and you can collect it until six o'clock" in text for text in struck)
    assert any("you when you collect it" in text for text in struck)
    assert "interrupted at 0:21.4" in dom


@pytest.mark.parametrize("minutes", [0, 40], ids=["busy", "forty minutes"])
def test_the_table_has_a_row_for_every_event(browser: Browser, tmp_path: Path, minutes: int) -> None:
    call = long_call(minutes) if minutes else busy_call()
    render_report(call.store(tmp_path / "call"))
    script = """
      const rows = one("#rows"), seen = new Set();
      const count = Number(one("#table").getAttribute("aria-rowcount")) - 1;
      const most = all(".line").length;
      for (let top = 0; top < rows.scrollHeight; top += rows.clientHeight) {
        rows.scrollTop = top;
        rows.dispatchEvent(new page.Event("scroll"));
        all(".line").forEach((line) => seen.add(line.dataset.seq));
      }
      return { count, seen: seen.size, most, total: one("#matches").textContent };
    """
    seen = browser.look(tmp_path, script)
    events = len(call.entries())
    assert seen["count"] == events
    assert seen["total"] == f"{events:,} events"
    assert seen["most"] < 60
    assert seen["seen"] == events


def test_it_fits_a_phone_and_everything_can_be_touched(browser: Browser, tmp_path: Path, report: Path) -> None:
    # A time, a kind and a figure are touched anywhere in their line, row and box.
    script = """
      const small = all("button:not(.when, .kind, .value), input, select, .links a, .talk li, .line")
        .filter((item) => item.offsetParent && item.getBoundingClientRect().height < 40)
        .map((item) => item.id || item.className || item.textContent);
      const wide = all("body *:not(.what, .what *, .kind)")
        .filter((item) => item.getBoundingClientRect().right > page.innerWidth + 0.5);
      return {
        width: page.innerWidth, scroll: doc.scrollingElement.scrollWidth, small, lanes: one("#lanes").clientWidth,
        wide: wide.map((item) => item.id || item.className || item.textContent),
      };
    """
    for width in (390, 320):
        seen = browser.look(tmp_path, script, width)
        assert seen["width"] == width
        assert seen["wide"] == []
        assert seen["scroll"] <= width
        assert seen["lanes"] == width
        assert seen["small"] == []


def test_searching_filtering_and_links_to_events(browser: Browser, tmp_path: Path, report: Path) -> None:
    script = """
      const search = one("#search"), kind = one("#kind");
      const type = (text) => { search.value = text; search.dispatchEvent(new page.Event("input")); };
      type("floor.verdict yield");
      const yields = all(".line").map((line) => Number(line.dataset.seq));
      type("no such words anywhere");
      const none = one("#rows").textContent;
      page.location.hash = `#seq=${yields[0]}`;
      await wait(300);
      const target = one(".line.target");
      const [now, matches] = [one("#now").textContent, one("#matches").textContent];
      return { yields, none, now, matches, search: search.value, target: +target.dataset.seq, fields: target.textContent };
    """
    seen = browser.look(tmp_path, script)
    entries = busy_call().entries()
    taken = [entry.seq for entry in entries if getattr(entry.event, "verdict", "") == "yield"]
    assert seen["yields"] == taken
    assert "No event matches" in seen["none"]
    assert (seen["search"], seen["target"]) == ("", taken[0])
    assert "sustained speech" in seen["fields"]
    assert seen["now"] == "0:21.4"
    assert seen["matches"] == f"{len(entries)} events"


def test_the_keyboard_moves_through_the_call(browser: Browser, tmp_path: Path, report: Path) -> None:
    script = """
      const board = one("#board");
      const press = (key) => board.dispatchEvent(new page.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      press("ArrowRight"); press("ArrowRight");
      const second = board.getAttribute("aria-valuenow");
      press("End");
      const end = one("#now").textContent;
      press("Home"); press("]"); press("]");
      return { second, end, moment: board.getAttribute("aria-valuetext") };
    """
    seen = browser.look(tmp_path, script)
    assert seen["second"] == "2"
    assert seen["end"] == "1:04.9"
    assert seen["moment"] == "0:21.4, caller: Can I come tomorrow instead? I'm at work until seven., floor: caller"


def test_hostile_texts_are_shown_and_do_nothing(browser: Browser, tmp_path: Path) -> None:
    render_report(busy_call(remote=HOSTILE, name=HOSTILE).store(tmp_path / "call"))
    script = """
      one(".facts button").click();
      const [images, scripts] = [all("img").length, all("script:not([type])").length];
      return { title: doc.title, images, scripts, facts: one("#facts").textContent, talk: one("#talk").textContent };
    """
    seen = browser.look(tmp_path, script)
    assert seen["title"].endswith("· call c-20260714-4f2a")
    assert seen["images"] == 0
    assert seen["scripts"] == 8
    assert HOSTILE in seen["facts"]
    assert HOSTILE in seen["talk"].replace("\n", " ")


def test_the_caller_is_masked_until_asked_for(browser: Browser, tmp_path: Path, report: Path) -> None:
    script = """
      const before = [one("#facts").textContent, one("#rows").textContent];
      one(".facts button").click();
      return { before, after: [one("#facts").textContent, one("#rows").textContent] };
    """
    seen = browser.look(tmp_path, script)
    assert [text for text in seen["before"] if "901820" in text] == []
    assert [text for text in seen["after"] if "+49 30 901820" not in text] == []


def test_the_sound_beside_the_page_is_played(browser: Browser, tmp_path: Path) -> None:
    folder = busy_call().store(tmp_path / "call")
    with OggOpusWriter(folder / "audio.ogg", 8000) as track:
        track.write(np.zeros((8000 * 3, 2), np.int16))
    render_report(folder)
    script = """
      const audio = one("#audio");
      for (let tries = 0; tries < 30 && audio.readyState < 1; tries++) await wait(100);
      return { ready: audio.readyState, length: audio.duration, disabled: one("#play").disabled };
    """
    seen = browser.look(tmp_path, script)
    assert seen["ready"] >= 1
    assert seen["length"] == pytest.approx(3, abs=0.1)
    assert seen["disabled"] is False


def test_without_sound_or_waveform_it_says_so_and_works(browser: Browser, tmp_path: Path) -> None:
    render_report(busy_call().store(tmp_path / "call", peaks=False))
    script = """
      const [disabled, silent] = [one("#play").disabled, one("#silent").hidden];
      return { disabled, silent, lines: all(".talk li").length, height: one("#lanes").clientHeight };
    """
    seen = browser.look(tmp_path, script)
    assert (seen["disabled"], seen["silent"]) == (True, False)
    assert seen["lines"] > 20
    assert seen["height"] > 200


def test_a_redacted_page_shows_blocks(browser: Browser, tmp_path: Path) -> None:
    render_report(busy_call().store(tmp_path / "call"), redact=True)
    seen = browser.look(tmp_path, 'return { talk: one("#talk").textContent, foot: one("#foot").textContent };')
    assert "█" * 8 in seen["talk"]
    assert "bike" not in seen["talk"]
    assert "blocked out" in seen["foot"]
