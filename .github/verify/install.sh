#!/usr/bin/env bash
# Downloads trainyard for this runner, checks it, and tells the steps that
# follow where it is. Part of action.yml. It runs in the bash 3.2 of macOS.
set -euo pipefail

releases=${RELEASES:-https://github.com/trainyard/trainyard/releases}

case $RUNNER_OS in
Linux) os=linux ;;
macOS) os=darwin ;;
*) echo "::error::trainyard has no release for $RUNNER_OS" && exit 1 ;;
esac
case $RUNNER_ARCH in
X64) arch=amd64 ;;
ARM64) arch=arm64 ;;
*) echo "::error::trainyard has no release for $RUNNER_ARCH" && exit 1 ;;
esac

# An action that is used by its tag brings the program of that tag.
if [[ -z $VERSION && $ACTION_REF =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]]; then
	VERSION=$ACTION_REF
fi
if [[ -n $VERSION ]]; then
	from=$releases/download/v${VERSION#v}
else
	from=$releases/latest/download
fi

dir=$(mktemp -d "$RUNNER_TEMP/trainyard.XXXXXX")
cd "$dir"
fetch() { curl --fail --silent --show-error --location --retry 3 --output "$1" "$from/$1"; }
fetch checksums.txt
if ! line=$(grep -E "^[0-9a-f]{64}  trainyard_[^/ ]+_${os}_${arch}\.tar\.gz$" checksums.txt); then
	echo "::error::$from has no file for $os on $arch" && exit 1
fi
archive=${line##* }
fetch "$archive"
if command -v sha256sum >/dev/null; then
	sha256sum --check --quiet <<<"$line"
else
	shasum -a 256 --check --quiet <<<"$line"
fi
tar -xzf "$archive" trainyard
./trainyard version
echo "trainyard=$dir/trainyard" >>"$GITHUB_OUTPUT"
