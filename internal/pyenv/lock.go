package pyenv

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// requirement is one entry of a requirements file: its lines, hashes included,
// and the package they pin.
type requirement struct {
	name    string // normalized: "nvidia-cublas"
	version string
	text    string
}

var pinned = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*==\s*([^\s;\\]+)`)

// parseLock splits a requirements file into entries. Comments and options are
// left out: a lock file made by uv or pip-tools needs none.
func parseLock(lock []byte) []requirement {
	var reqs []requirement
	var entry bytes.Buffer
	for line := range bytes.Lines(lock) {
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		entry.WriteString(text + "\n")
		if strings.HasSuffix(text, `\`) {
			continue
		}
		if m := pinned.FindStringSubmatch(entry.String()); m != nil {
			reqs = append(reqs, requirement{normalized(m[1]), m[2], entry.String()})
		}
		entry.Reset()
	}
	return reqs
}

var separators = regexp.MustCompile(`[-_.]+`)

// normalized is a package's name as indexes compare it.
func normalized(name string) string {
	return separators.ReplaceAllString(strings.ToLower(name), "-")
}

// lockedVersion is the version that name is pinned to, empty where it is not.
func lockedVersion(reqs []requirement, name string) string {
	i := slices.IndexFunc(reqs, func(r requirement) bool { return r.name == name })
	if i < 0 {
		return ""
	}
	return reqs[i].version
}

// withoutTorch leaves out PyTorch and what only its CUDA build needs.
func withoutTorch(reqs []requirement) []byte {
	var kept bytes.Buffer
	for _, r := range reqs {
		if !ofTorch(r.name) {
			kept.WriteString(r.text)
		}
	}
	return kept.Bytes()
}

func ofTorch(name string) bool {
	return name == "torch" || name == "triton" ||
		strings.HasPrefix(name, "nvidia-") || strings.HasPrefix(name, "cuda-")
}
