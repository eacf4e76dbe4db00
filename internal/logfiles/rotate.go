package logfiles

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
)

var (
	// compressed are the endings that a rotated file may get when it is packed.
	compressed = regexp.MustCompile(`\.(?:gz|zst|bz2)$`)
	// numbered is logrotate's, Docker's and Ray's way to name rotated files: 1 is
	// the newest of them.
	numbered = regexp.MustCompile(`^(.+)\.([1-9]\d{0,3})$`)
	// dated is the way of the kubelet (0.log.20261129-224434) and of logrotate
	// with dateext (train.log-20261129).
	dated = regexp.MustCompile(`^(.+)[.-](20\d{6}(?:-\d{6,10})?)$`)
)

// turn is a file's place among those that one log was rotated into.
type turn struct {
	base   string // the path that the newest file has
	number int    // 0 for the newest
	date   string
}

func turnOf(path string) turn {
	path = compressed.ReplaceAllString(path, "")
	if m := dated.FindStringSubmatch(path); m != nil {
		return turn{base: m[1], date: m[2]}
	}
	if m := numbered.FindStringSubmatch(path); m != nil {
		n, _ := strconv.Atoi(m[2]) // four digits at most
		return turn{base: m[1], number: n}
	}
	return turn{base: path}
}

func (t turn) newest() bool { return t.number == 0 && t.date == "" }

// rotated puts together what is one log. Files that end in a number are pieces
// of one only where the file without the number is there and none is numbered
// 0: ranks are numbered, too.
func rotated(files []Log) []Log {
	groups := map[string][]int{}
	for i, f := range files {
		base := turnOf(f.Name).base
		groups[base] = append(groups[base], i)
	}
	names := map[string]bool{}
	for _, f := range files {
		names[f.Name] = true
	}
	var logs []Log
	for i, f := range files {
		t := turnOf(f.Name)
		group := groups[t.base]
		switch newest := newestOf(files, group); {
		case newest < 0 || names[t.base+".0"]:
			logs = append(logs, f)
		case newest == i:
			logs = append(logs, join(files, group))
		}
	}
	return logs
}

// newestOf finds the file that the log was last written to; -1 where it is not
// there, or not clear.
func newestOf(files []Log, group []int) int {
	found := -1
	for _, i := range group {
		if !turnOf(files[i].Name).newest() {
			continue
		}
		if found >= 0 { // x and x.gz
			return -1
		}
		found = i
	}
	return found
}

// join makes one log of several files. A number that is missing is a gap in the
// log.
func join(files []Log, group []int) Log {
	group = slices.Clone(group)
	slices.SortStableFunc(group, func(a, b int) int { return older(turnOf(files[a].Name), turnOf(files[b].Name)) })
	log := files[group[len(group)-1]]
	log.pieces = nil
	for at, i := range group {
		log.pieces = append(log.pieces, files[i].pieces...)
		if n := turnOf(files[i].Name).number; n > 0 && n != len(group)-1-at {
			log.Truncated = true
		}
		log.Truncated = log.Truncated || files[i].Truncated
	}
	return log
}

func older(a, b turn) int {
	switch {
	case a.newest() != b.newest():
		if a.newest() {
			return 1
		}
		return -1
	case a.date != b.date:
		return cmp.Compare(a.date, b.date)
	}
	return cmp.Compare(b.number, a.number)
}
