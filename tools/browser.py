"""See that there is a browser to open reports in; where there is none, install Chromium.

Silent when there is one. Otherwise it installs one where it may, and says what to install where it
may not. It always exits with 0: tests that need a browser then skip and the rest still runs.
"""

import shutil

from system_packages import install

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium",)


def found() -> bool:
    return any(shutil.which(name) for name in NAMES)


def main() -> None:
    if not found():
        install(PACKAGES, "to open reports in")
        if not found():
            print(
                "There is no browser here, so tests of reports skip: install chromium (its name in "
                "Debian; in Ubuntu Google Chrome is easier)."
            )


if __name__ == "__main__":
    main()
