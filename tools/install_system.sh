#!/bin/sh
# Install the browser, the office suite and the fonts that evidence needs, where they are missing, and say so.
# Debian as root: packages. Anywhere else: the line to type, and Playwright's own browser.
# PYTHON is the interpreter of the environment that has beholder.
set -eu

PACKAGES="chromium-headless-shell fontconfig
    libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui
    fonts-liberation fonts-crosextra-carlito fonts-crosextra-caladea
    fonts-noto-cjk fonts-noto-color-emoji fonts-indic fonts-thai-tlwg-ttf"

missing() {
    for package in $PACKAGES; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s ' "$package"
    done
}

install_from_debian() { # packages
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -q --no-install-recommends "$@" >/dev/null 2>&1 && return
    # Perhaps the machine has no package lists yet, or old ones.
    apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends "$@" >/dev/null
}

if [ -f /etc/debian_version ]; then
    wanted=$(missing)
    if [ -n "$wanted" ] && [ "$(id -u)" = 0 ]; then
        echo "Installing Debian packages: $wanted"
        # shellcheck disable=SC2086  # a list of packages
        install_from_debian $wanted || echo "That failed; trying Playwright's own browser."
    elif [ -n "$wanted" ]; then
        echo "Missing: $wanted"
        echo "To install them: sudo apt-get install --no-install-recommends $wanted"
    fi
fi

if ! "$PYTHON" -c "from beholder.evidence.browser import find_browser; find_browser()" 2>/dev/null; then
    echo "Installing Playwright's own Chromium"
    if ! "$PYTHON" -m playwright install --only-shell chromium; then
        echo "That failed too. Once you are online: $PYTHON -m playwright install --only-shell chromium"
        exit 1
    fi
fi
