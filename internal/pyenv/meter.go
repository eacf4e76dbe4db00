package pyenv

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// packedShare is what a byte on the disk is in a wheel, roughly: PyTorch, Ray
// and CUDA's libraries are 2.9 GiB of wheels and 5.2 GiB unpacked.
const packedShare = 0.55

// walkShare bounds what counting files may cost: one part in walkShare of the time.
const walkShare = 20

type phase int

const (
	resolving phase = iota
	fetching
	installing
	compiling
	finished
)

// meter follows one `uv pip install` by its lines on stderr, and, where they
// are silent for long, by what grows on the disk.
type meter struct {
	report func(Progress)
	site   string // the environment, where bytecode appears
	cache  string // uv's cache, where downloads are unpacked; may be empty

	phase    phase
	packages int64
	sizes    map[string]int64 // of wheels being downloaded, in bytes
	old      map[string]bool  // unpacking folders that were there before
	total    int64            // bytes of all wheels announced
	fetched  int64            // bytes of those that are there
	shown    int64            // the most bytes reported, so that estimates never go back
	nextWalk time.Time
}

func newMeter(report func(Progress), site, cache string) *meter {
	m := &meter{report: report, site: site, cache: cache, sizes: map[string]int64{}, old: map[string]bool{}}
	for _, dir := range m.unpacking() {
		m.old[dir] = true
	}
	m.tell(Progress{Text: "resolving packages"})
	return m
}

var uvLine = regexp.MustCompile(`^\s*(Resolved|Downloading|Downloaded|Prepared|Installed|Bytecode compiled) (\S+)(?:.*\(([\d.]+)([KMG]i)?B\))?`)

// line takes in one line of uv's stderr.
func (m *meter) line(s string) {
	match := uvLine.FindStringSubmatch(s)
	if match == nil {
		return
	}
	subject := match[2]
	count, _ := strconv.ParseInt(subject, 10, 64)
	switch match[1] {
	case "Resolved":
		m.phase, m.packages = fetching, count
		m.tell(Progress{Text: "fetching packages", Total: count, Unit: Packages})
	case "Downloading":
		m.sizes[subject] = parseSize(match[3], match[4])
		m.total += m.sizes[subject]
	case "Downloaded":
		m.fetched += m.sizes[subject]
		delete(m.sizes, subject)
		m.tellBytes()
	case "Prepared":
		m.phase = installing
		m.tell(Progress{Text: "installing packages", Total: m.packages, Unit: Packages})
	case "Installed":
		m.phase = compiling
		m.tell(Progress{Text: "installing packages", Done: count, Total: max(count, m.packages), Unit: Packages})
		m.countBytecode()
	case "Bytecode compiled":
		m.phase = finished
		m.tell(Progress{Text: "compiling bytecode", Done: count, Total: count, Unit: Files})
	}
}

// tick looks at the disk, seldom enough that it does not slow uv down.
func (m *meter) tick() {
	start := time.Now()
	if start.Before(m.nextWalk) {
		return
	}
	switch m.phase {
	case fetching:
		m.tellBytes()
	case compiling:
		m.countBytecode()
	default:
		return
	}
	m.nextWalk = start.Add(walkShare * time.Since(start))
}

// tellBytes reports how much is downloaded: the wheels that are there, and of
// the others an estimate from what is unpacked so far.
func (m *meter) tellBytes() {
	if m.total == 0 {
		return
	}
	var pending int64
	for _, size := range m.sizes {
		pending += size
	}
	estimate := int64(packedShare * float64(m.unpacked()))
	m.shown = max(m.shown, m.fetched+min(estimate, pending*19/20))
	m.tell(Progress{Text: "downloading packages", Done: m.shown, Total: m.total, Unit: Bytes})
}

// unpacking lists the folders in which uv unpacks wheels while they arrive.
func (m *meter) unpacking() []string {
	if m.cache == "" {
		return nil
	}
	dirs, _ := filepath.Glob(filepath.Join(m.cache, ".tmp*")) // a pattern that means nothing finds nothing
	return dirs
}

func (m *meter) unpacked() int64 {
	var bytes int64
	for _, dir := range m.unpacking() {
		if !m.old[dir] {
			walkFiles(dir, func(entry fs.DirEntry) {
				if info, err := entry.Info(); err == nil {
					bytes += info.Size()
				}
			})
		}
	}
	return bytes
}

func (m *meter) countBytecode() {
	var sources, compiled int64
	walkFiles(m.site, func(entry fs.DirEntry) {
		switch filepath.Ext(entry.Name()) {
		case ".py":
			sources++
		case ".pyc":
			compiled++
		}
	})
	m.tell(Progress{Text: "compiling bytecode", Done: min(compiled, sources), Total: sources, Unit: Files})
}

func (m *meter) tell(p Progress) { m.report(p) }

// walkFiles visits the files below dir, of which any may vanish meanwhile.
func walkFiles(dir string, visit func(fs.DirEntry)) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // counted next time, if it is there then
		}
		if entry.Type().IsRegular() {
			visit(entry)
		}
		return nil
	})
}

// parseSize reads uv's "502.2" and "Mi" as bytes.
func parseSize(number, unit string) int64 {
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	shift := strings.Index("  KiMiGi", unit) / 2
	if unit == "" {
		shift = 0
	}
	return int64(v * float64(int64(1)<<(10*shift)))
}
