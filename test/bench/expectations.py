"""Scripts over canned data: nothing is measured, what they say is compared."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HAND_WRITTEN = "# Results\n\nBy hand, before.\n\n<!-- {name} -->\nof an earlier run\n<!-- end -->\n\nBy hand, after.\n"


def run(script, *arguments, **environment):
    """Exit code and output of a script of the repository."""
    done = subprocess.run([sys.executable, str(ROOT / script), *map(str, arguments)], capture_output=True, text=True,
                          env=dict(os.environ, **{name: str(value) for name, value in environment.items()}))
    return done.returncode, done.stdout + done.stderr


class Expectations:
    """Of one test: what was not met is printed, with the text that was looked at."""

    def __init__(self, test):
        self.test, self.count, self.failures = test, 0, 0

    def holds(self, good, what, text=""):
        self.count += 1
        if not good:
            self.failures += 1
            print(f"FAIL {what}\n{text}")

    def ends(self, ran, code, *texts):
        """`ran` of run() ended with the code and said all of the texts."""
        self.holds(ran[0] == code, f"exit {ran[0]}, expected {code}", ran[1])
        for text in texts:
            self.holds(text in ran[1], f"expected to read: {text}", ran[1])

    def section(self, path, *lines):
        """The generated section of a file that was HAND_WRITTEN has the lines, and nothing around it changed."""
        text = path.read_text()
        self.holds(text.startswith("# Results\n\nBy hand, before.\n\n<!-- ") and text.endswith("<!-- end -->\n\nBy hand, after.\n"),
                   "what is written by hand changed", text)
        self.holds("of an earlier run" not in text, "the earlier section is still there", text)
        for line in lines:
            self.holds(line in text.split("\n"), f"expected the line: {line}", text)

    def verdict(self):
        """The exit code of the test."""
        print(f"{self.test}: {'FAILED' if self.failures else 'OK'}, {self.count} expectations, {self.failures} not met")
        return 1 if self.failures else 0
